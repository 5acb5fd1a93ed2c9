"""Makes the ROS wheels usable from CMake: they name the folders of the machine that they were built on."""

import re
import sys
import sysconfig
from pathlib import Path

import numpy

PYTHON_INCLUDE = re.compile(r"/opt/python/[^/\s\";]+/include/python3\.\d+")
NUMPY_INCLUDE = re.compile(r"/opt/python/[^/\s\";]+/lib/python3\.\d+/site-packages/numpy/_?core/include")


def main() -> None:
    """Rewrite every exported CMake file below the environment's prefix."""
    for path in Path(sys.prefix, "share").rglob("*rosidl_generator_pyExport.cmake"):
        text = path.read_text()
        adapted = NUMPY_INCLUDE.sub(numpy.get_include(), text)
        adapted = PYTHON_INCLUDE.sub(sysconfig.get_paths()["include"], adapted)
        if adapted != text:
            path.write_text(adapted)


if __name__ == "__main__":
    main()
