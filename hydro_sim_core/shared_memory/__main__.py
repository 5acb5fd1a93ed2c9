"""Prints the folder of the C headers: ``c++ -I$(python -m hydro_sim_core.shared_memory) ...``."""

from hydro_sim_core.shared_memory.c_header import INCLUDE

print(INCLUDE)
