"""Writers of hostile inputs, one module a kind of file; every module here is found by ``support.hostile.cases``."""
