"""VTK, VTU and Gmsh files of strangers."""

from __future__ import annotations

import base64
import struct
import zlib

from support.hostile.meshes import ROWS, UNPACKED, add_damaged, content, laughs, noise, zipped

# VTK


def vtk(body: str | bytes, form: str = "ASCII", version: str = "4.2") -> bytes:
    head = f"# vtk DataFile Version {version}\nx\n{form}\n".encode()
    return head + (body.encode() if isinstance(body, str) else body)


def grid(
    cells: str = "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n",
    points: object = 4,
    rows: str = ROWS,
    more: str = "",
) -> str:
    return f"DATASET UNSTRUCTURED_GRID\nPOINTS {points} double\n{rows}{cells}{more}"


add_damaged(".vtk", vtk(grid()))
content("flat_single.vtk", vtk(grid()))
twice = "CELLS 2 10\n4 0 1 2 3\n4 0 1 2 3\nCELL_TYPES 2\n10\n10\n"
content("same_twice.vtk", vtk(grid(twice)))
content("mirrored_twice.vtk", vtk(grid(twice.replace("4 0 1 2 3\nCELL", "4 0 1 3 2\nCELL"))))
content("flat.vtk", vtk(grid(rows=ROWS.replace("0.0 0.0 0.1", "0.05 0.05 0.0"))))
content("one_point.vtk", vtk(grid(rows="0 0 0\n" * 4)))
content("same_corner.vtk", vtk(grid("CELLS 1 5\n4 0 0 2 3\nCELL_TYPES 1\n10\n")))
content("beyond.vtk", vtk(grid("CELLS 1 5\n4 0 1 2 99\nCELL_TYPES 1\n10\n")))
content("below.vtk", vtk(grid("CELLS 1 5\n4 0 1 2 -9\nCELL_TYPES 1\n10\n")))
content("nan.vtk", vtk(grid(rows=ROWS.replace("0.1", "nan"))))
content("exponent.vtk", vtk(grid(rows=ROWS.replace("0.1", "1e999"))))
content("far.vtk", vtk(grid(rows=ROWS.replace("0.1", "1e300"))))
content("triangles.vtk", vtk(grid("CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n5\n")))
content("unknown_cell.vtk", vtk(grid("CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n99\n")))
content("claims_points.vtk", vtk(grid(points=4_000_000_000)))
content(
    "claims_points_binary.vtk",
    vtk(b"DATASET UNSTRUCTURED_GRID\nPOINTS 4000000000 double\n" + bytes(96), "BINARY"),
)
content("claims_negative.vtk", vtk(grid(points=-4)))
content("claims_words.vtk", vtk(grid(points="many")))
content("claims_cells.vtk", vtk(grid("CELLS 1000000000 5000000000\n4 0 1 2 3\n")))
content("claims_little.vtk", vtk(grid("CELLS 1 1\n4 0 1 2 3\nCELL_TYPES 1\n10\n")))
content("claims_long_cell.vtk", vtk(grid("CELLS 1 5\n999999999 0 1 2 3\nCELL_TYPES 1\n10\n")))
content("no_types.vtk", vtk(grid("CELLS 1 5\n4 0 1 2 3\n")))
content(
    "structured.vtk",
    vtk("DATASET STRUCTURED_POINTS\nDIMENSIONS 100000 100000 100000\nORIGIN 0 0 0\nSPACING 1 1 1\n"),
)
content(
    "structured_some.vtk",
    vtk("DATASET STRUCTURED_POINTS\nDIMENSIONS 700 700 700\nORIGIN 0 0 0\nSPACING 1 1 1\n"),
)
content(
    "rectilinear.vtk",
    vtk("DATASET RECTILINEAR_GRID\nDIMENSIONS 9999 9999 9999\nX_COORDINATES 9999 double\n0 1\n"),
)
content("unknown_dataset.vtk", vtk("DATASET SECRET\n"))
content("version_99.vtk", vtk(grid(), version="99.9"))
content("version_5.vtk", vtk(grid(), version="5.1"))
content(
    "offsets.vtk",
    vtk(
        grid("CELLS 2 4\nOFFSETS vtktypeint64\n0 99999999999\nCONNECTIVITY vtktypeint64\n0 1 2 3\n"),
        version="5.1",
    ),
)
content("no_version.vtk", "# vtk DataFile Version\nx\nASCII\n")
content("field.vtk", vtk(grid(more="POINT_DATA 4\nFIELD f 1\npressure 1 4000000000 double\n0 0 0 0\n")))
content(
    "field_words.vtk",
    vtk(grid(more="POINT_DATA 4\nSCALARS pressure secret\nLOOKUP_TABLE default\n0 0 0 0\n")),
)
content(
    "field_nan.vtk",
    vtk(grid(more="POINT_DATA 4\nSCALARS pressure double\nLOOKUP_TABLE default\nnan nan 0 0\n")),
)
content(
    "field_huge.vtk",
    vtk(grid(more="POINT_DATA 4\nSCALARS pressure double\nLOOKUP_TABLE default\n0 0 0 1e308\n")),
)
content(
    "many_cells.vtk",
    lambda: vtk(
        grid(
            "CELLS 2500000 12500000\n"
            + "4 0 1 2 3\n" * 2_500_000
            + "CELL_TYPES 2500000\n"
            + "10\n" * 2_500_000
        )
    ),
)
content(
    "alternating.vtk",
    lambda: vtk(
        grid(
            "CELLS 200000 900000\n"
            + "4 0 1 2 3\n3 0 1 2\n" * 100_000
            + "CELL_TYPES 200000\n"
            + "10\n5\n" * 100_000
        )
    ),
)
content("metadata.vtk", lambda: vtk(grid(more="METADATA\n" * 500_000)))
content("escapes.vtk", vtk("DATASET \x1b[31mX\n"))


# VTU


def vtu(
    points: str = ROWS,
    connectivity: str = "0 1 2 3",
    head: str = "",
    form: str = 'format="ascii"',
    attributes: str = "",
    number: object = 4,
    more: str = "",
) -> str:
    return (
        f'<?xml version="1.0"?>{head}'
        f'<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" {attributes}>'
        f'<UnstructuredGrid><Piece NumberOfPoints="{number}" NumberOfCells="1"><Points><DataArray type="Float64" '
        f'NumberOfComponents="3" {form}>{points}</DataArray></Points><Cells>'
        f'<DataArray type="Int64" Name="connectivity" '
        f'format="ascii">{connectivity}</DataArray><DataArray type="Int64" Name="offsets" format="ascii">4</DataArray>'
        f'<DataArray type="UInt8" Name="types" format="ascii">10</DataArray></Cells>{more}</Piece></UnstructuredGrid>'
        "</VTKFile>"
    )


def packed(size: int, block: int = 2**25) -> str:
    """A binary array that unpacks to ``size`` zeros, as VTK packs it."""
    blocks = size // block
    one = zlib.compress(bytes(block), 1)
    header = struct.pack("<III", blocks, block, 0) + struct.pack("<I", len(one)) * blocks
    return base64.b64encode(header).decode() + base64.b64encode(one * blocks).decode()


add_damaged(".vtu", vtu().encode())
content("entities.vtu", vtu("&z;", head=laughs("VTKFile")))
outside = '<!DOCTYPE VTKFile [<!ENTITY z SYSTEM "file:///etc/passwd">]>'
content("outside.vtu", vtu("&z;", head=outside))
content("entities_in_attribute.vtu", vtu(head=laughs("VTKFile"), number="&z;"))
content("archive.vtu", lambda: zipped("a.vtu", UNPACKED))
zlib_compressed = 'compressor="vtkZLibDataCompressor" header_type="UInt32"'
content("packed.vtu", lambda: vtu(packed(4 * UNPACKED), form='format="binary"', attributes=zlib_compressed))
content(
    "packed_number.vtu",
    lambda: vtu(packed(2**28), form='format="binary"', attributes=zlib_compressed, number=10**9),
)
content(
    "packed_claims.vtu",
    vtu(
        base64.b64encode(struct.pack("<IIII", 2**31, 2**31, 0, 9)).decode(),
        form='format="binary"',
        attributes=zlib_compressed,
    ),
)
content(
    "packed_noise.vtu",
    vtu(base64.b64encode(noise(3)).decode(), form='format="binary"', attributes=zlib_compressed),
)
content(
    "compressor.vtu",
    vtu("AAAA", form='format="binary"', attributes='compressor="vtkSecretCompressor" header_type="UInt32"'),
)
content("header_type.vtu", vtu("AAAA", form='format="binary"', attributes='header_type="Secret"'))
content("appended_absent.vtu", vtu("", form='format="appended" offset="999999"'))
content(
    "appended_cut.vtu",
    vtu("", form='format="appended" offset="0"', attributes='header_type="UInt64"', more="").replace(
        "</VTKFile>", '<AppendedData encoding="raw">_\xff\xff'
    ),
)
content("form.vtu", vtu(form='format="secret"'))
content("claims.vtu", vtu(number=4_000_000_000))
content("claims_words.vtu", vtu(number="many"))
content("nan.vtu", vtu(ROWS.replace("0.1", "nan")))
content("words.vtu", vtu("a b c d"))
content("few_points.vtu", vtu("0 0 0"))
content("beyond.vtu", vtu(connectivity="0 1 2 99"))
content("below.vtu", vtu(connectivity="0 1 2 -99"))
content("few_corners.vtu", vtu(connectivity="0 1"))
content("nested.vtu", vtu(more="<a>" * 100_000 + "</a>" * 100_000))
content(
    "included.vtu",
    vtu(more='<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd"/>'),
)
content("another_root.vtu", "<robot/>")
content("another_kind.vtu", '<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian"/>')
content("many_points.vtu", lambda: vtu("0.5 " * 20_000_000))
content("wide.vtu", vtu().encode("utf-16"))
content("many_attributes.vtu", lambda: vtu(attributes=" ".join(f'a{i}=""' for i in range(200_000))))


# MSH


def msh(nodes: str, elements: str, version: str = "2.2 0 8") -> str:
    return f"$MeshFormat\n{version}\n$EndMeshFormat\n$Nodes\n{nodes}$EndNodes\n$Elements\n{elements}$EndElements\n"


nodes = "4\n" + "".join(f"{i + 1} {row}\n" for i, row in enumerate(ROWS.splitlines()))
one = "1\n1 4 2 0 1 1 2 3 4\n"
add_damaged(".msh", msh(nodes, one).encode())
content("claims_nodes.msh", msh(nodes.replace("4\n", "4000000000\n", 1), one))
content("claims_elements.msh", msh(nodes, one.replace("1\n", "4000000000\n", 1)))
content("claims_negative.msh", msh("-4\n", one))
content("claims_words.msh", msh("many\n", one))
content(
    "sparse.msh",
    msh(nodes.replace("\n4 ", "\n4000000000000 "), one.replace("3 4\n", "3 4000000000000\n")),
)
content("sparse_some.msh", msh(nodes.replace("\n4 ", "\n400000000 "), one.replace("3 4\n", "3 400000000\n")))
content("node_below.msh", msh(nodes.replace("\n4 ", "\n-4 "), one))
content("beyond.msh", msh(nodes, one.replace("3 4\n", "3 99\n")))
content("nan.msh", msh(nodes.replace("0.1", "nan"), one))
content("element_kind.msh", msh(nodes, one.replace("1 4 2", "1 999 2")))
content("many_tags.msh", msh(nodes, one.replace("1 4 2", "1 4 999999999")))
content("few_corners.msh", msh(nodes, "1\n1 4 2 0 1 1 2\n"))
content("version_99.msh", msh(nodes, one, "99.9 0 8"))
content("version_1.msh", "$NOD\n1\n1 0 0 0\n$ENDNOD\n")
content("version_words.msh", msh(nodes, one, "new old 8"))
content("data_size.msh", msh(nodes, one, "2.2 1 99"))
content(
    "binary_claims.msh",
    b"$MeshFormat\n2.2 1 8\n" + struct.pack("<i", 1) + b"\n$EndMeshFormat\n$Nodes\n2000000000\n" + bytes(99),
)
content("binary_order.msh", b"$MeshFormat\n2.2 1 8\n" + struct.pack(">i", 1) + b"\n$EndMeshFormat\n")
new = "1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n" + ROWS
content(
    "new_claims.msh",
    msh(new.replace("0 4\n", "0 4000000000\n"), "1 1 1 1\n3 1 4 1\n1 1 2 3 4\n", "4.1 0 8"),
)
content("new_claims_blocks.msh", msh("4000000000 4 1 4\n", "", "4.1 0 8"))
content("new_elements.msh", msh(new, "1 4000000000 1 1\n3 1 4 4000000000\n1 1 2 3 4\n", "4.1 0 8"))
content(
    "new_binary.msh",
    b"$MeshFormat\n4.1 1 8\n"
    + struct.pack("<i", 1)
    + b"\n$EndMeshFormat\n$Nodes\n"
    + struct.pack("<QQQQ", 2**60, 2**60, 1, 2**60),
)
content(
    "physical.msh", f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n{10**12}\n$EndPhysicalNames\n"
)
content("no_end.msh", lambda: "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Secret\n" + "x\n" * 3_000_000)
content("no_sections.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n")
content(
    "data_claims.msh",
    msh(nodes, one) + f'$NodeData\n1\n"pressure"\n1\n0.0\n3\n0\n1\n{10**10}\n$EndNodeData\n',
)
content("escapes.msh", "$\x1b[31mX\n")
