"""What tests share, in the rooms of the tests: ``from support.contact.poses import random_rotation``."""
