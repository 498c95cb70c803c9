# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls the driver's library, libcuda.so.1, by ctypes and prints what the calls return.

    driver_program.py CASE

A CASE is a function below. Codes were compared with those of NVIDIA's driver 580 on an H200,
but for what the emulator does not model and for handles that are gone, where a driver may
do anything.
"""

import ctypes
import sys
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

cuda = ctypes.CDLL("libcuda.so.1")

PTX = """.version 8.0
.target {chip}
.address_size 64
.visible .global .align 4 .u32 total;
.visible .entry store(.param .u64 to)
{{
  .reg .b64 %to;
  ld.param.u64 %to, [to];
  st.global.u32 [%to], 7;
  ret;
}}
.visible .entry pairs() .explicitcluster .reqnctapercluster 2, 1, 1
{{
  ret;
}}
.visible .entry small() .maxntid 64, 2, 1
{{
  .shared .align 4 .b8 room[48];
  .local .align 4 .b8 own[12];
  .reg .b32 %place;
  mov.u32 %place, room;
  st.shared.u32 [%place], 0;
  mov.u32 %place, own;
  st.local.u32 [%place], 0;
  ret;
}}
"""


class Attribute(ctypes.Structure):
    _fields_ = [("id", c_int), ("padding", c_int), ("value", c_uint * 16)]


class Config(ctypes.Structure):
    _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint),
                ("stream", c_void_p), ("attributes", ctypes.POINTER(Attribute)),
                ("count", c_uint)]


def call(what, *arguments, name=None):
    code = getattr(cuda, what)(*arguments)
    text = c_char_p()
    cuda.cuGetErrorName(code, byref(text))
    print(f"{name or what}: {text.value.decode()}", flush=True)
    return code


def begin():
    """Makes the primary context current."""
    context = c_void_p()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(byref(context), 0)
    cuda.cuCtxPushCurrent_v2(context)
    return context


def load(name, image, options=((5, 0), (6, 300))):
    """The module of an image; prints the error log."""
    log, module = ctypes.create_string_buffer(300), c_void_p()
    ids = (c_int * len(options))(*[number for number, _ in options])
    values = (c_void_p * len(options))(*[
        ctypes.addressof(log) if number == 5 else value for number, value in options])
    call("cuModuleLoadDataEx", byref(module), image, len(options), ids, values, name=name)
    if log.value:
        print("log:", log.value.decode().strip())
    return module


def good(chip="sm_90"):
    return load("load", PTX.format(chip=chip).encode())


def function(module, name):
    found = c_void_p()
    call("cuModuleGetFunction", byref(found), module, name.encode(), name=name)
    return found


def allocate(count):
    address = c_void_p()
    cuda.cuMemAlloc_v2(byref(address), c_size_t(count))
    return address


def count_used():
    free, total = c_size_t(), c_size_t()
    cuda.cudaMemGetInfo(byref(free), byref(total))
    return total.value - free.value


def pointers(*arguments):
    """The addresses of arguments, which live as long as the result does."""
    found = (c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
    found.arguments = arguments
    return found


def launch(name, kernel, arguments, grid=1, block=1, shared=0, extra=None):
    call("cuLaunchKernel", kernel, grid, 1, 1, block, 1, 1, shared, None, arguments, extra,
         name=name)


def launch_ex(name, kernel, arguments, grid, *attributes, stream=None, extra=None):
    listed = (Attribute * max(1, len(attributes)))()
    for slot, (number, *values) in zip(listed, attributes):
        slot.id = number
        slot.value[:len(values)] = values
    config = Config((grid, 1, 1), (1, 1, 1), 0, stream, listed, len(attributes))
    call("cuLaunchKernelEx", byref(config), kernel, arguments, extra, name=name)


def beginnings():
    """What has to come first."""
    value, context, address = c_int(), c_void_p(), c_void_p()
    call("cuDriverGetVersion", byref(value))
    call("cuDeviceGetCount", byref(value))
    call("cuMemAlloc_v2", byref(address), c_size_t(8))
    call("cuInit", 1, name="flags")
    call("cuInit", 0)
    call("cuDeviceGetCount", byref(value))
    print("devices", value.value)
    call("cuDeviceGet", byref(value), 1, name="device 1")
    name = ctypes.create_string_buffer(b"-" * 15, 16)
    call("cuDeviceGetName", name, 11, 0)
    print(name.value.decode())
    call("cuDeviceGetName", name, 0, 0, name="no room")
    call("cuDeviceGetName", name, 11, 1, name="name of device 1")
    call("cuDeviceGetAttribute", byref(value), 75, 1, name="attribute of device 1")
    for attribute in (75, 76, 97, 9999):
        if call("cuDeviceGetAttribute", byref(value), attribute, 0) == 0:
            print(value.value)
    call("cuMemAlloc_v2", byref(address), c_size_t(8), name="no context")
    call("cuCtxPopCurrent_v2", byref(context), name="pop none")
    call("cuCtxPushCurrent_v2", None, name="push none")
    call("cuDevicePrimaryCtxRelease_v2", 0, name="release none")
    call("cuDevicePrimaryCtxRelease_v2", 1, name="release of device 1")
    call("cuDevicePrimaryCtxRetain", byref(context), 1, name="retain of device 1")
    call("cuDevicePrimaryCtxRetain", None, 0, name="retain nowhere")
    call("cuDevicePrimaryCtxRetain", byref(context), 0)
    call("cuCtxPushCurrent_v2", context)
    call("cuMemAlloc_v2", byref(address), c_size_t(8))
    first = good()
    call("cuDevicePrimaryCtxRelease_v2", 0)
    call("cuMemFree_v2", address, name="context released")
    call("cuDevicePrimaryCtxRetain", byref(context), 0)
    call("cuMemFree_v2", address, name="its memory")
    call("cuModuleUnload", first, name="its module")
    call("cuCtxPopCurrent_v2", byref(context))
    call("cuMemFree_v2", address, name="context popped")


def modules():
    begin()
    first = good()
    for chip in ("sm_100", "sm_120a", "sm_103a"):
        load(chip, PTX.format(chip=chip).replace("8.0", "8.8").encode())
    load("misspelt", PTX.format(chip="sm_90").replace("ret;", "rot;").encode())
    load("short log", PTX.format(chip="sm_90").replace("ret;", "rot;").encode(),
         ((5, 0), (6, 20)))
    load("text", b"hello")
    load("cubin", b"\x7fELF\x02\x01\x01")
    load("fat binary", bytes.fromhex("50ed55ba01001000"))
    load("description", bytes.fromhex("b143624601000000"))
    load("option", PTX.format(chip="sm_90").encode(), ((7, 4),))
    load("info log", PTX.format(chip="sm_90").encode(), ((3, 0), (4, 0)))
    call("cuModuleLoadDataEx", byref(first), None, 0, None, None, name="no image")
    store, again = function(first, "store"), function(first, "store")
    print("the same:", store.value == again.value)
    function(first, "absent")
    call("cuModuleGetFunction", byref(store), first, None, name="no name")
    function(store, "store")
    address, size = c_uint64(), c_size_t()
    call("cuModuleGetGlobal_v2", byref(address), byref(size), first, b"total", name="total")
    print("at an address:", address.value != 0, "of", size.value)
    call("cuModuleGetGlobal_v2", None, None, first, b"absent", name="no variable")
    call("cuModuleGetGlobal_v2", None, None, first, None, name="no name")
    call("cuModuleGetGlobal_v2", None, None, store, b"total", name="total of a kernel")
    # Every module has its own variables, which are gone with it.
    before = count_used()
    other = good()
    print("bytes of its variables:", count_used() - before)
    call("cuModuleUnload", first)
    print("both:", count_used() - before)
    call("cuModuleUnload", first, name="again")
    function(first, "store")
    launch("unloaded", store, pointers(c_uint64(0)))
    call("cuFuncGetAttribute", byref(c_int()), 0, store, name="attribute of it")
    function(other, "store")
    found = [c_void_p(), c_int()]
    for name in (b"cuMemAlloc", b"cuLaunchKernelEx", b"cudaMalloc", b"cuMemCreate"):
        cuda.cudaGetDriverEntryPointByVersion(name, byref(found[0]), 13000, c_uint64(0),
                                              byref(found[1]))
        print(name.decode(), "found:", bool(found[0].value), found[1].value)


def attributes():
    begin()
    module, value = good(), c_int()
    for name in ("store", "pairs", "small"):
        kernel, values = function(module, name), []
        for number in range(16):
            cuda.cuFuncGetAttribute(byref(value), number, kernel)
            values.append(value.value)
        print(*values)
    call("cuFuncSetAttribute", kernel, 8, 232448 - 48, name="most")
    call("cuFuncSetAttribute", kernel, 8, 232448 - 47, name="more")
    call("cuFuncSetAttribute", kernel, 8, -1, name="less")
    call("cuFuncSetAttribute", kernel, 0, 8, name="read only")
    call("cuFuncGetAttribute", byref(value), 8, kernel)
    print(value.value)
    call("cuFuncGetAttribute", byref(value), 16, kernel, name="unknown")
    call("cuFuncGetAttribute", byref(value), 0, None, name="no kernel")
    call("cuMemHostAlloc", byref(c_void_p()), c_size_t(8), 1, name="not mapped")


def memory():
    begin()
    host, device = ctypes.create_string_buffer(b"abcdefgh", 8), allocate(8)
    eight, other = c_size_t(8), allocate(8)
    call("cuMemcpyHtoD_v2", device, host, eight)
    call("cuMemcpyDtoDAsync_v2", other, device, eight, None)
    call("cuMemsetD8_v2", other, 0x78, c_size_t(3))
    call("cuMemcpyDtoH_v2", host, other, eight)
    print(host.raw.decode())
    call("cuMemAlloc_v2", byref(c_void_p()), c_size_t(0), name="no bytes")
    call("cuMemAlloc_v2", byref(c_void_p()), c_size_t(1 << 50), name="too many bytes")
    call("cuMemFree_v2", None, name="free null")
    call("cuMemFree_v2", host, name="free of the host")
    call("cuMemFree_v2", c_void_p(device.value + 4), name="free inside")
    call("cuMemcpyHtoD_v2", host, host, eight, name="to the host")
    call("cuMemcpyDtoH_v2", host, host, eight, name="from the host")
    call("cuMemcpyDtoDAsync_v2", device, host, eight, None, name="on the host")
    call("cuMemcpyHtoD_v2", device, host, c_size_t(9), name="too long")
    call("cuMemsetD8_v2", host, 0, c_size_t(8), name="set of the host")
    call("cuMemFree_v2", device)
    call("cuMemFree_v2", device, name="again")
    # Memory of the host that the device sees, under another address.
    mapped, seen = c_void_p(), c_void_p()
    call("cuMemHostAlloc", byref(mapped), eight, 3)
    call("cuMemHostGetDevicePointer_v2", byref(seen), mapped, 0)
    ctypes.memmove(mapped, b"ABCDEFGH", 8)
    call("cuMemcpyDtoDAsync_v2", other, seen, c_size_t(4), None)
    call("cuMemsetD8_v2", seen, 0x79, c_size_t(2))
    call("cuMemcpyDtoH_v2", host, other, eight)
    print(host.raw.decode(), ctypes.string_at(mapped, 8).decode())
    call("cuMemHostAlloc", None, eight, 3, name="mapped nowhere")
    call("cuMemHostGetDevicePointer_v2", None, mapped, 0, name="address nowhere")
    call("cuMemHostGetDevicePointer_v2", byref(seen), host, 0, name="address of other memory")
    call("cuMemFreeHost", mapped)
    call("cuMemFreeHost", mapped, name="mapped again")
    call("cuCtxSynchronize")
    stream, first, second = c_void_p(), c_void_p(), c_void_p()
    call("cuStreamCreate", byref(stream), 1)
    call("cuEventCreate", byref(first), 0)
    call("cuEventCreate", byref(second), 0)
    time = c_float(-1)
    call("cuEventRecord", first, stream)
    call("cuEventElapsedTime", byref(time), first, second, name="never recorded")
    call("cuEventRecord", second, stream)
    call("cuEventSynchronize", second)
    call("cuEventElapsedTime", byref(time), first, second)
    print("forward:", time.value >= 0)
    call("cuEventDestroy_v2", first)
    call("cuStreamSynchronize", stream)
    call("cuStreamDestroy_v2", stream)
    # The driver's errors are none of the runtime's.
    print("last error of the runtime:", cuda.cudaGetLastError())


def launches():
    begin()
    module, word = good(), c_uint()
    store, pairs, to = function(module, "store"), function(module, "pairs"), allocate(4)
    good_one = pointers(to)
    launch("store", store, good_one)
    cuda.cuMemcpyDtoH_v2(byref(word), to, c_size_t(4))
    print(word.value)
    launch("no arguments", store, None)
    launch("extra", store, good_one, extra=(c_void_p * 1)())
    launch("no grid", store, good_one, grid=0)
    launch("large block", store, good_one, block=1025)
    launch("shared", store, good_one, shared=49153)
    launch("no kernel", None, good_one)
    launch("two of a pair", pairs, None, grid=2)
    launch("three of pairs", pairs, None, grid=3)
    launch_ex("pairs in fours", pairs, None, 4, (4, 4, 1, 1))
    launch_ex("no cluster", store, good_one, 2, (4, 0, 1, 1))
    launch_ex("clusters", store, good_one, 4, (4, 2, 1, 1), (6, 1))
    launch_ex("clusters of 16", store, good_one, 16, (4, 16, 1, 1))
    cuda.cuFuncSetAttribute(store, 14, 1)
    launch_ex("allowed", store, good_one, 16, (4, 16, 1, 1))
    launch_ex("preferred", store, good_one, 4, (4, 2, 1, 1), (11, 4, 1, 1))
    launch_ex("no multiple", store, good_one, 6, (4, 2, 1, 1), (11, 3, 1, 1))
    launch_ex("attribute 9", store, good_one, 2, (9, 1))
    launch_ex("extra", store, good_one, 2, extra=(c_void_p * 1)())
    call("cuStreamSynchronize", None)


def overlap():
    """Two launches that store the same, of which the second may begin before the first ends."""
    begin()
    module, to = good(), pointers(allocate(4))
    store = function(module, "store")
    launch("first", store, to)
    launch_ex("second", store, to, 1, (6, 1))


def in_order():
    """Launches with the attribute that nothing overlaps: without a launch before them in their
    stream, or with something else in between, or with the attribute off."""
    begin()
    module, memory = good(), allocate(4)
    store, to = function(module, "store"), pointers(memory)
    stream, event, host = c_void_p(), c_void_p(), ctypes.create_string_buffer(4)
    cuda.cuStreamCreate(byref(stream), 0)
    cuda.cuEventCreate(byref(event), 0)
    launch_ex("alone", store, to, 1, (6, 1))
    launch_ex("off", store, to, 1, (6, 0))
    launch_ex("other stream", store, to, 1, (6, 1), stream=stream)
    for what, between in (("a copy", lambda: cuda.cuMemcpyDtoH_v2(host, memory, c_size_t(4))),
                          ("a fill", lambda: cuda.cuMemsetD8_v2(memory, 0, c_size_t(4))),
                          ("an event", lambda: cuda.cuEventRecord(event, None)),
                          ("a wait", lambda: cuda.cuStreamSynchronize(None))):
        between()
        launch_ex(f"behind {what}", store, to, 1, (6, 1))


def broken():
    """After a fault all but the device and the context's handles fail, for ever."""
    context = begin()
    module, to, host = good(), allocate(4), ctypes.create_string_buffer(8)
    store, four, event = function(module, "store"), c_size_t(4), c_void_p()
    cuda.cuEventCreate(byref(event), 0)
    launch("the fault", store, pointers(c_uint64(to.value + 4)))
    call("cuStreamSynchronize", None)
    launch("another", store, pointers(to))
    call("cuMemAlloc_v2", byref(c_void_p()), four)
    call("cuMemFree_v2", to)
    call("cuMemcpyDtoH_v2", host, to, four)
    call("cuMemsetD8_v2", to, 0, four)
    call("cuStreamCreate", byref(c_void_p()), 1)
    call("cuEventRecord", event, None)
    call("cuEventSynchronize", event)
    call("cuEventElapsedTime", byref(c_float()), event, event)
    good()
    function(module, "store")
    call("cuFuncGetAttribute", byref(c_int()), 1, store)
    call("cuFuncSetAttribute", store, 8, 8)
    call("cuModuleUnload", module)
    call("cuDeviceGetAttribute", byref(c_int()), 75, 0)
    call("cuCtxPopCurrent_v2", byref(context))
    call("cuDevicePrimaryCtxRelease_v2", 0)
    call("cuDevicePrimaryCtxRetain", byref(context), 0, name="retain anew")


globals()[sys.argv[1]]()
