from setuptools import find_packages, setup

setup(
    name="hydro_sim",
    version="0.1.0",
    description="ROS 2 node of hydro-sim: robots in pressure-field contact, stepped in real time.",
    license="Apache-2.0",
    maintainer="hydro-sim developers",
    maintainer_email="hydro-sim-developers@users.noreply.github.com",
    packages=find_packages(include=["hydro_sim", "hydro_sim.*"]),
    package_data={"hydro_sim": ["fast_dds.xml"]},
    install_requires=["hydro-sim-core==0.1.0"],
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/hydro_sim"]),
        ("share/hydro_sim", ["package.xml"]),
    ],
    zip_safe=False,
    # With it, colcon test runs pytest; setup.cfg says on what.
    extras_require={"test": ["pytest"]},
    entry_points={
        "console_scripts": [
            "hydro_sim = hydro_sim.__main__:main",
            "task_controller = hydro_sim.task_control.__main__:main",
            "wait_for_simulation = hydro_sim.wait_for_simulation:main",
        ]
    },
)
