"""Pictures and films of a scene without a screen: the viewer's page in a headless browser."""
