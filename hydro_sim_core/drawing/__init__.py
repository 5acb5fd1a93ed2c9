"""Drawing of contact, common to all outputs: the faces of a patch that are shown, and the colour scale."""
