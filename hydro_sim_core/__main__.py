"""``python -m hydro_sim_core`` runs ``hydro-sim``, also where the folder of scripts is not on the PATH."""

from hydro_sim_core.cli import main

if __name__ == "__main__":
    main()
