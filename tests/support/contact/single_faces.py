"""Buffers with one face of a given polygon and pressure."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    CENTROID,
    GRADIENT,
    NORMAL,
    PRESSURE,
    FaceBuffer,
    make_face_buffer,
)


def one_face(corners: np.ndarray, centroid: np.ndarray, pressure: float, gradient: np.ndarray) -> FaceBuffer:
    """A face of corners (n, 3) in order about its normal, m, and with a pressure at its centroid, Pa, and its slope."""
    faces, edges = make_face_buffer(1), corners[1:] - corners[0]
    vector = 0.5 * np.cross(edges[:-1], edges[1:]).sum(axis=0)
    data, area = faces.data, np.linalg.norm(vector)
    data[CENTROID : CENTROID + 3, 0], data[NORMAL : NORMAL + 3, 0] = centroid, vector / area
    data[GRADIENT : GRADIENT + 3, 0], data[PRESSURE, 0], data[AREA, 0] = gradient, pressure, area
    faces.polygons[0, : len(corners)], faces.num_vertices[0] = corners, len(corners)
    return faces
