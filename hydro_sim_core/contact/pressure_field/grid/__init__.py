"""Faces of one large patch by many threads, one for an element, a pair of elements or a face.

They are launched one after another (``search``): which elements of B may meet each element of A, counted and then
listed (``pairs``), without those that surely have no polygon; the faces of each pair, counted and then written where
the scan of the counts says (``faces``); sums over faces (``sums``). So the order of faces is fixed: by the leaves of
the tree that has more of them, then by those of the other. The polygons are those of ``tree_query``.
"""
