"""From links and joints to the equations of motion: kinematic tree, mass matrix, bias forces, Jacobians."""
