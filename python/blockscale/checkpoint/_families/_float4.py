# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FP4 in safetensors' own type F4, whose shapes count elements and not bytes."""

from __future__ import annotations

from blockscale.checkpoint._families._family import Evidence, Family
from blockscale.checkpoint._layouts import Layout

#: What scales are called.
_SCALES = (".weight_scale", ".scale", ".weight_scale_inv")


class Float4(Family):
    """The type of the scales says which format it is, so that no configuration is needed."""

    name = "f4"
    layouts = tuple(
        Layout(f"F4 with {dtype} scales", "f4", format, data=(".weight", "F4"),
               scales=(ending, dtype), global_scale=".weight_scale_2" if format == "nvfp4" else "",
               is_written=False)
        for format, dtype in (("mxfp4", "F8_E8M0"), ("nvfp4", "F8_E4M3")) for ending in _SCALES)
    describes_itself = True
    needs_global = False
    may_lack_global = True

    def guess(self, evidence: Evidence) -> Layout | None:
        if evidence.get_dtype(".weight") != "F4":
            return None
        return next((layout for layout in self.layouts
                     if evidence.get_dtype(layout.scales[0]) == layout.scales[1]), self.layouts[0])
