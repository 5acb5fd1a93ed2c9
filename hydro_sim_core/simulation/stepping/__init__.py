"""One time step as compiled code, and the memory that it works on."""
