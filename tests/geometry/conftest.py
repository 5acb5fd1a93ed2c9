import pytest


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A cache of meshes that nobody else uses; compiled kernels stay where they are."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(folder))
    return folder
