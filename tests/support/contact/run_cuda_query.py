"""Run the GPU query in Numba's simulator: ``python run_cuda_query.py INPUT.npz OUTPUT.npz``.

A process of its own, because the simulator is chosen by environment variables that Numba reads when it is imported.
"""

import sys

import numpy as np
from numba import config

from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.cuda_query import CudaQuery

assert config.ENABLE_CUDASIM
assert config.DISABLE_JIT
given = np.load(sys.argv[1])
query = CudaQuery(GeometrySet(**{name: given[name] for name in GeometrySet._fields}), int(given["capacity"]))
faces, count = query.find_faces(0, 1, given["R_BA"], given["p_BA"])
np.savez(sys.argv[2], **faces._asdict(), count=count)
