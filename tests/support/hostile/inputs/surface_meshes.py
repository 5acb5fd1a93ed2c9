"""STL, OBJ and PLY files of strangers."""

from __future__ import annotations

import struct

import numpy as np

from support.hostile.meshes import FACES, POINTS, ROWS, add_damaged, content

# STL


def stl(points: np.ndarray, faces: np.ndarray, told: int | None = None) -> bytes:
    """Binary STL whose header tells ``told`` triangles."""
    blocks = np.zeros(
        len(faces), np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("colour", "<u2")])
    )
    blocks["corners"] = points[faces]
    return bytes(80) + struct.pack("<I", len(faces) if told is None else told) + blocks.tobytes()


def ascii_stl(rows: str) -> str:
    return f"solid a\nfacet normal 0 0 1\nouter loop\n{rows}endloop\nendfacet\nendsolid a\n"


whole = stl(POINTS, FACES)
add_damaged(".stl", whole)
content("claims_all.stl", stl(POINTS, FACES, 2**32 - 1))
content("claims_none.stl", stl(POINTS, FACES, 0))
content("header_only.stl", bytes(84))
content("longer.stl", whole + b"trailing")
content("nan.stl", stl(POINTS * np.nan, FACES))
content("inf.stl", stl(POINTS + np.inf, FACES))
content("far.stl", stl(POINTS.astype(np.float32) * 1e38, FACES))
content("tiny.stl", stl(POINTS * 1e-40, FACES))
content("point.stl", stl(POINTS * 0.0, FACES))
content("flat.stl", stl(POINTS * [1, 1, 0], FACES))
content("same_triangle.stl", lambda: stl(POINTS, FACES[np.zeros(200_000, int)]))
content(
    "million.stl",
    lambda: stl(np.random.default_rng(1).random((300_000, 3)), _random_faces(1_000_000, 300_000)),
)
content("too_many.stl", lambda: stl(POINTS, FACES[np.zeros(2_050_000, int)]))
content("solid_binary.stl", b"solid" + whole[5:-1])
content("words.stl", ascii_stl("vertex a b c\nvertex d e f\nvertex g h i\n"))
content("two_corners.stl", ascii_stl("vertex 0 0 0\nvertex 1 0 0\n"))
content("exponent.stl", ascii_stl("vertex 0 0 1e999\nvertex 1 0 0\nvertex 0 1 0\n"))
content("nan_words.stl", ascii_stl("vertex 0 0 nan\nvertex 1 0 0\nvertex 0 1 0\n"))
content("end_first.stl", "solid\nendsolid\nendsolid solid endsolid")
content("no_end.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0")
content("escapes.stl", "solid \x1b[31mred\nWARNING: forged\nvertex \x1b]0;title\x07")
content("many_solids.stl", lambda: "solid a endsolid a\n" * 300_000)
content("one_line.stl", lambda: "solid " + "vertex 0 0 0 " * 1_000_000 + " endsolid")
content("wide.stl", ascii_stl("vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n").encode("utf-16"))
content("zeros.stl", lambda: b"solid" + bytes(50_000_000))


def _random_faces(count: int, vertices: int) -> np.ndarray:
    return np.random.default_rng(2).integers(0, vertices, (count, 3))


# OBJ


def obj(faces: str = "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n", before: str = "") -> str:
    return before + "".join(f"v {row}\n" for row in ROWS.splitlines()) + faces


add_damaged(".obj", obj().encode())
content("beyond.obj", obj("f 1 2 99\n"))
content("beyond_below.obj", obj("f -1 -2 -99\n"))
content("from_zero.obj", obj("f 0 1 2\n"))
content("fraction.obj", obj("f 1.5 2 3\n"))
content("words.obj", obj("f a b c\n"))
content("large_index.obj", obj("f 1 2 99999999999999999999999\n"))
content("two_corners.obj", obj("f 1 2\n"))
content("slashes.obj", obj("f 1/1/1 2// 3/9/9\n"))
content("nan.obj", obj(before="v nan nan nan\n"))
content("nan_used.obj", "v nan 0 0\n" + obj("f 1 2 3\n"))
content("exponent.obj", "v 1e400 0 0\n" + obj("f 1 2 3\n"))
content("two_coordinates.obj", "v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n")
content("uneven.obj", "v 0 0 0\nv 1 0\nv 0 1 0 1 1 1 1\nf 1 2 3\n")
content("points.obj", obj(""))
content("shell.obj", obj(before="csh touch /tmp/hydro_sim_pwned\ncall /etc/passwd\n"))
for name, library in (
    ("passwd", "/etc/passwd"),
    ("parent", "../../../../../../etc/passwd"),
    ("zero", "/dev/zero"),
    ("file_uri", "file:///dev/zero"),
    ("web", "http://127.0.0.1:9/a.mtl"),
    ("absent", "absent.mtl"),
    ("itself", "library_itself.obj"),
    ("null", "a\0b.mtl"),
):
    content(f"library_{name}.obj", obj(before=f"mtllib {library}\nusemtl a\n"))
content("libraries.obj", lambda: obj(before="".join(f"mtllib {i}.mtl\n" for i in range(50_000))))
content("materials.obj", lambda: "".join(obj(f"usemtl m{i}\nf 1 2 3\n") for i in range(20_000)))
content("groups.obj", lambda: "".join(obj(f"o o{i}\nf -1 -2 -3\n") for i in range(20_000)))
content("polygon.obj", lambda: obj("f " + " ".join(["1 2 3 4"] * 250_000) + "\n"))
content("same_face.obj", lambda: obj("f 1 2 3\n" * 3_000_000))
content("vertices.obj", lambda: "v 0 0 0\n" * 3_000_000 + "f 1 2 3\n")
content("continued.obj", lambda: obj("f 1 2 3 \\\n" * 500_000))
content("one_word.obj", lambda: b"v" + b"1" * 30_000_000)
content("null.obj", obj().replace("v 0.1", "v \0"))
content("latin.obj", obj(before="# \xe4\xf6\n").encode("latin-1"))
content("wide.obj", obj().encode("utf-16"))
content("escapes.obj", obj("o \x1b[31mX\nf \x1b[2J 1 2\n"))


# PLY


def ply(
    vertices: object = 4,
    faces: object = 1,
    body: str | bytes = ROWS + "3 0 1 2\n",
    form: str = "ascii 1.0",
    more: str = "",
    face: str = "list uchar int vertex_indices",
) -> bytes:
    head = f"ply\nformat {form}\n{more}element vertex {vertices}\n"
    head += "property float x\nproperty float y\nproperty float z\n"
    head += f"element face {faces}\nproperty {face}\nend_header\n"
    return head.encode() + (body.encode() if isinstance(body, str) else body)


corners = POINTS.astype("<f4").tobytes()
triangle = np.array([0, 1, 2], "<i4").tobytes()
binary = "binary_little_endian 1.0"
add_damaged(".ply", ply(body=corners + b"\3" + triangle, form=binary))
content("beyond.ply", ply(body=ROWS + "3 0 1 99\n"))
content(
    "beyond_binary.ply", ply(body=corners + b"\3" + np.array([0, 1, 10**9], "<i4").tobytes(), form=binary)
)
content("below.ply", ply(body=ROWS + "3 0 1 -3\n"))
content("nan.ply", ply(body=ROWS.replace("0.1", "nan") + "3 0 1 2\n"))
content("claims_vertices.ply", ply(vertices=4_000_000_000))
content("claims_vertices_binary.ply", ply(4_000_000_000, body=corners, form=binary))
content("claims_faces_binary.ply", ply(faces=4_000_000_000, body=corners, form=binary))
content("claims_negative.ply", ply(vertices=-4))
content("claims_words.ply", ply(vertices="many"))
content("claims_above.ply", ply(vertices=2**70))
content("without_faces.ply", ply(faces=0, body=ROWS))
content("long_list.ply", ply(body=corners + b"\xff" + triangle, form=binary))
content("list_of_floats.ply", ply(face="list float float vertex_indices"))
content("unknown_type.ply", ply(face="list uchar secret vertex_indices"))
content("unknown_format.ply", ply(form="binary_middle_endian 1.0"))
content("big_endian.ply", ply(body=corners, form="binary_big_endian 1.0"))
content("no_end.ply", ply().replace(b"end_header", b"end"))
content(
    "no_properties.ply",
    b"ply\nformat binary_little_endian 1.0\nelement vertex 9000000000000000000\nend_header\n",
)
content("nothing_many_times.ply", ply(more=f"element nothing {2**62}\n", form=binary, body=corners))
content("texture.ply", ply(more="comment TextureFile /etc/passwd\n"))
content("elements.ply", lambda: ply(more="element e 1\nproperty float a\n" * 100_000))
content("comments.ply", lambda: ply(more="comment \x1b[31m\n" * 1_000_000))
content(
    "corners.ply",
    lambda: ply(body=ROWS + "1000000 " + "0 1 2 " * 333_333, face="list int int vertex_indices"),
)
content("few_rows.ply", ply(body="0 0 0\n"))
