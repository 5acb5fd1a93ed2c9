"""Texts of robots that clients spawn."""

BALL = (
    '<robot name="ball"><link name="ball"><inertial><mass value="0.1"/>'
    '<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><sphere radius="0.05"/></geometry></collision></link></robot>'
)
WHEEL = BALL.replace('name="ball"', 'name="base"').replace(
    "</robot>",
    '<link name="rim"><inertial><mass value="0.1"/>'
    '<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="axle" type="continuous"><parent link="base"/><child link="rim"/></joint></robot>',
)
