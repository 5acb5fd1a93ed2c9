"""``python -m hydro_sim_core`` is ``hydro-sim``, also where the folder of programs is not on the path."""

from hydro_sim_core.cli import main

if __name__ == "__main__":
    main()
