"""How contact is drawn, wherever it is drawn: what of a patch, and in which colours."""
