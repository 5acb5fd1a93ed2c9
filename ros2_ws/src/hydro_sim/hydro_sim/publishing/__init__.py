"""Publishers: messages of snapshots of the World, made outside the stepping thread."""
