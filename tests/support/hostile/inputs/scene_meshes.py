"""GLB and DAE files of strangers: scenes that refer to more than they hold."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

from support.hostile.meshes import FACES, POINTS, ROWS, UNPACKED, add_damaged, content, laughs, zipped

# GLB


def glb(document: Any, binary: bytes = b"") -> bytes:
    held = document if isinstance(document, bytes) else json.dumps(document).encode()
    held += b" " * (-len(held) % 4)
    binary += bytes(-len(binary) % 4)
    chunks = struct.pack("<II", len(held), 0x4E4F534A) + held
    chunks += struct.pack("<II", len(binary), 0x004E4942) + binary if binary else b""
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


def gltf(**changes: Any) -> dict[str, Any]:
    """A document with a triangle."""
    document: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5125, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 48},
        ],
        "buffers": [{"byteLength": 96}],
    }
    return {**document, **changes}


_TEXTURED = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}
_PAINTED = [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}]


def _png(width: int, height: int) -> bytes:
    """A picture of one colour that unpacks to a gigabyte or so."""

    def chunk(kind: bytes, held: bytes) -> bytes:
        return struct.pack(">I", len(held)) + kind + held + struct.pack(">I", zlib.crc32(kind + held))

    packer = zlib.compressobj(1)
    row = bytes(1 + width)
    held = b"".join(packer.compress(row) for _ in range(min(height, 2000))) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", held) + chunk(b"IEND", b"")


binary = POINTS.astype("<f4").tobytes() + FACES.astype("<u4").tobytes()
accessors, views = gltf()["accessors"], gltf()["bufferViews"]


def case(name: str, **changes: Any) -> None:
    content(f"{name}.glb", lambda: glb(gltf(**changes), binary))


def accessor(which: int, **changes: Any) -> list[dict[str, Any]]:
    return [{**held, **(changes if i == which else {})} for i, held in enumerate(accessors)]


add_damaged(".glb", glb(gltf(), binary))
bare = [{"componentType": 5126, "count": 400_000_000, "type": "VEC3"}, accessors[1]]
case("no_view", accessors=bare)
case("no_view_16", accessors=[{"componentType": 5126, "count": 10**8, "type": "MAT4"}, accessors[1]])
for name, count in (
    ("negative", -1),
    ("endless", 10**18),
    ("above", 2**70),
    ("words", "many"),
    ("fraction", 0.5),
):
    case(f"count_{name}", accessors=accessor(0, count=count))
case("sparse", accessors=accessor(0, bufferView=None, sparse={"count": 10**9}, count=10**9))
case("beyond", accessors=accessor(1, byteOffset=8))
case("view_beyond", bufferViews=[{**views[0], "byteOffset": 10**9}, views[1]])
case("view_negative", bufferViews=[{**views[0], "byteOffset": -1000}, views[1]])
case("stride", bufferViews=[{**views[0], "byteStride": 10**9}, views[1]])
case("stride_none", bufferViews=[{**views[0], "byteStride": 0}, views[1]])
case("component", accessors=accessor(0, componentType=99))
case("type", accessors=accessor(0, type="VEC99"))
for name, uri in (
    ("passwd", "/etc/passwd"),
    ("file", "file:///dev/zero"),
    ("zero", "/dev/zero"),
    ("web", "http://127.0.0.1:9/a.bin"),
    ("parent", "../../../../../../../etc/passwd"),
    ("data", "data:application/octet-stream;base64,AAAA"),
):
    case(f"buffer_{name}", buffers=[{"byteLength": 96, "uri": uri}])
    case(
        f"image_{name}",
        images=[{"uri": uri}],
        textures=[{"source": 0}],
        materials=[_TEXTURED],
        meshes=_PAINTED,
    )
picture = base64.b64encode(_png(30_000, 30_000)).decode()
case(
    "image_bomb",
    images=[{"uri": f"data:image/png;base64,{picture}"}],
    textures=[{"source": 0}],
    materials=[_TEXTURED],
    meshes=_PAINTED,
)
case("cycle", nodes=[{"mesh": 0, "children": [1]}, {"children": [0]}])
case("own_child", nodes=[{"mesh": 0, "children": [0]}])
case("no_node", scenes=[{"nodes": [99]}])
case("no_mesh", nodes=[{"mesh": 99}])
tree = [{"children": [i + 1] * 10} for i in range(30)]
case("many_children", nodes=[*tree, {"mesh": 0}])
case("instances", nodes=[{"mesh": 0} for _ in range(100_000)], scenes=[{"nodes": list(range(100_000))}])
case("chain", nodes=[*({"children": [i + 1]} for i in range(20_000)), {"mesh": 0}])
case("matrix_nan", nodes=[{"mesh": 0, "matrix": [float("nan")] * 16}])
case("matrix_short", nodes=[{"mesh": 0, "matrix": [1.0] * 15}])
case("matrix_flat", nodes=[{"mesh": 0, "matrix": [0.0] * 16}])
case("matrix_large", nodes=[{"mesh": 0, "matrix": [1e308] * 16}])
case("scale_nan", nodes=[{"mesh": 0, "scale": [float("inf")] * 3}])
case("turned_by_nothing", nodes=[{"mesh": 0, "rotation": [0, 0, 0, 0]}])
case("lines", meshes=[{"primitives": [{"attributes": {"POSITION": 0}, "mode": 1}]}])
case("strip", meshes=[{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "mode": 5}]}])
case("draco", extensionsRequired=["KHR_draco_mesh_compression"])
case("primitives", meshes=[{"primitives": gltf()["meshes"][0]["primitives"] * 50_000}])
content("beyond_index.glb", glb(gltf(), binary[:-4] + struct.pack("<I", 2**31)))
content("nested.glb", glb(b"[" * 200_000))
content("not_json.glb", glb(b"{nope"))
content("list.glb", glb(b"[1, 2]"))
content("nothing_in_it.glb", glb(b"{}"))
content("long_number.glb", glb(b'{"asset": {"version": ' + b"9" * 1_000_000 + b"}}"))
content("chunk_beyond.glb", struct.pack("<IIIII", 0x46546C67, 2, 20, 2**32 - 1, 0x4E4F534A) + b"{}")
content("version_1.glb", struct.pack("<III", 0x46546C67, 1, 12))
content("escapes.glb", glb(b'{"meshes": "\x1b[31m"}'))


# DAE


def dae(
    values: str = ROWS.replace("\n", " "),
    corners: str = "0 2 1 0 1 3 1 2 3 0 3 2",
    head: str = "",
    asset: str = '<asset><unit name="metre" meter="1"/></asset>',
    node: str = '<instance_geometry url="#g"/>',
    more: str = "",
    count: object = 12,
) -> str:
    return (
        f'<?xml version="1.0"?>{head}<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">'
        f'{asset}{more}<library_geometries><geometry id="g"><mesh><source id="s"><float_array id="a" count="{count}">'
        f'{values}</float_array><technique_common><accessor source="#a" count="4" stride="3"><param name="X" '
        'type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor>'
        "</technique_common></source>"
        '<vertices id="v"><input semantic="POSITION" source="#s"/></vertices><triangles count="4">'
        f'<input semantic="VERTEX" source="#v" offset="0"/><p>{corners}</p></triangles></mesh></geometry>'
        f'</library_geometries><library_visual_scenes><visual_scene id="x"><node id="n">{node}</node></visual_scene>'
        '</library_visual_scenes><scene><instance_visual_scene url="#x"/></scene></COLLADA>'
    )


add_damaged(".dae", dae().encode())
content("entities.dae", dae("&z;", head=laughs("COLLADA")))
outside = '<!DOCTYPE COLLADA [<!ENTITY z SYSTEM "file:///etc/passwd">]>'
content("outside.dae", dae("&z;", head=outside))
content("outside_device.dae", dae("&z;", head=outside.replace("/etc/passwd", "/dev/zero")))
content("outside_grammar.dae", dae(head='<!DOCTYPE COLLADA SYSTEM "http://127.0.0.1:9/a.dtd">'))
content(
    "entities_wide.dae",
    dae("&z;", head=laughs("COLLADA")).replace('"1.0"', '"1.0" encoding="utf-16"', 1).encode("utf-16"),
)
content("archive.dae", lambda: zipped("a.dae", UNPACKED))
content("archive_small.dae", lambda: zipped("../../etc/a.dae", 2**20))
content("nan.dae", dae(("nan " * 3 + ROWS.replace("\n", " ")).strip()[:-12]))
content("nan_all.dae", dae("NaN " * 12))
content("inf.dae", dae("INF " * 12))
content("beyond.dae", dae(corners="0 1 99"))
content("below.dae", dae(corners="0 1 -2"))
content("four_indices.dae", dae(corners="0 1 2 3"))
content("no_indices.dae", dae(corners=""))
content("claims.dae", dae(count=10**12))
content("few_values.dae", dae("0 0 0"))
content("words.dae", dae("a b c"))
for name, metre in (
    ("zero", "0"),
    ("nan", "nan"),
    ("negative", "-1"),
    ("large", "1e300"),
    ("words", "long"),
):
    content(f"unit_{name}.dae", dae(asset=f'<asset><unit name="u" meter="{metre}"/></asset>'))
content("no_asset.dae", dae(asset=""))
content("no_geometry.dae", dae(node='<instance_geometry url="#other"/>'))
content("matrix_short.dae", dae(node='<matrix>1 2 3</matrix><instance_geometry url="#g"/>'))
content("matrix_nan.dae", dae(node=f'<matrix>{"nan " * 16}</matrix><instance_geometry url="#g"/>'))
content("node_of_itself.dae", dae(node='<instance_node url="#n"/><instance_geometry url="#g"/>'))
levels = "".join(
    f'<node id="k{i}">{f"<instance_node url=%s#k{i + 1}%s/>" % (chr(34), chr(34)) * 10}</node>'
    for i in range(9)
)
leaf = '<node id="k9"><instance_geometry url="#g"/></node>'
library = f"<library_nodes>{leaf}{levels}</library_nodes>"
content("many_nodes.dae", dae(node='<instance_node url="#k0"/>', more=library))
content("nested.dae", dae(node="<node>" * 50_000 + "</node>" * 50_000))
content(
    "image.dae",
    dae(more='<library_images><image id="i"><init_from>/dev/zero</init_from></image></library_images>'),
)
content("many_triangles.dae", lambda: dae(corners="0 1 2 " * 3_000_000))
content("many_values.dae", lambda: dae("0.5 " * 20_000_000))
content("wide.dae", dae().encode("utf-16"))
content("another_root.dae", "<robot/>")
content(
    "included.dae",
    dae(more='<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd"/>'),
)
content("escapes.dae", "<COLLADA>&#27;[31m<a></COLLADA>")
