# Ubuntu 24.04 with ROS 2 Jazzy: the engine by pip, the workspace by colcon, the demo by ros2 launch.
#   docker build -t hydro-sim . && docker run --rm -it hydro-sim
FROM ros:jazzy-ros-base

SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /hydro-sim

# Ubuntu's archive keeps one version of a package: a pinned one disappears.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-pip \
    && rm -rf /var/lib/apt/lists/*

COPY ros2_ws/src ros2_ws/src
RUN apt-get update \
    && rosdep update --rosdistro jazzy \
    && rosdep install --rosdistro jazzy --from-paths ros2_ws/src --ignore-src --default-yes \
        --skip-keys "rviz2 rviz_default_plugins python3-hydro-sim-core-pip" \
    && rm -rf /var/lib/apt/lists/*

COPY . .
# ROS runs on the system's Python, so the engine has to be there too. pip cannot replace apt's typing_extensions, only
# shadow it, and ROS's messages are compiled for apt's NumPy 1.26.
RUN python3 -m pip install --break-system-packages --no-cache-dir --ignore-installed 'typing_extensions>=4.14' \
    && python3 -m pip install --break-system-packages --no-cache-dir . 'numpy<2' \
    && .ci/release python3 /tmp/wheel \
    && python3 -m pip install --break-system-packages --no-cache-dir --no-deps --force-reinstall /tmp/wheel/*.whl \
    && rm -rf /tmp/wheel

WORKDIR /hydro-sim/ros2_ws
RUN source /opt/ros/jazzy/setup.bash && colcon build

# Proves that the node starts. Machine code for all processors of this kind is in the wheel, so nothing is compiled.
RUN source install/setup.bash \
    && ros2 launch hydro_sim_bringup kinova_soft_bubble.launch.py headless:=true duration:=0.1

CMD ["bash", "-c", "source install/setup.bash && exec ros2 launch hydro_sim_bringup kinova_soft_bubble.launch.py"]
