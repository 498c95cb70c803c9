# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A CUDA program without nvcc: it writes the fat binary of a PTX text itself, registers it
with libcudart.so.13 as nvcc's code does, and calls that library by ctypes.

    cuda_program.py PTX CASE

prints what the calls return. A CASE is a function below.
"""

import ctypes
import struct
import sys
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

import numpy as np

cuda = ctypes.CDLL("libcudart.so.13")
cuda.cudaGetErrorName.restype = ctypes.c_char_p
cuda.cudaGetErrorString.restype = ctypes.c_char_p
for function in ("__cudaRegisterFatBinary", "cudaGetDriverEntryPointByVersion"):
    getattr(cuda, function).restype = c_void_p

TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3
LZ4, ZSTD = 0x2000, 0x8000
KEPT = []  # What the library refers to.


class Dim3(ctypes.Structure):
    _fields_ = [("x", c_uint), ("y", c_uint), ("z", c_uint)]


class Attribute(ctypes.Structure):
    _fields_ = [("id", c_int), ("padding", c_int), ("value", c_uint * 16)]


class Config(ctypes.Structure):
    _fields_ = [("grid", Dim3), ("block", Dim3), ("shared", c_size_t), ("stream", c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("count", c_uint)]


def show(what, code):
    print(f"{what}: {cuda.cudaGetErrorName(c_int(code)).decode()}", flush=True)
    return code


def zstd_frame(data):
    """A frame of blocks that are not compressed."""
    frame = struct.pack("<IBQ", 0xFD2FB528, 0xE0, len(data))
    step = 1 << 16
    for at in range(0, len(data), step):
        block = data[at:at + step]
        is_last = at + step >= len(data)
        frame += struct.pack("<I", len(block) << 3 | is_last)[:3] + block
    return frame


def entry(text, flags=0, kind=1):
    data = text.encode() + b"\0"
    content = zstd_frame(data) if flags == ZSTD else data
    compressed = len(content) if flags else 0
    content += bytes(-len(content) % 8)
    header = struct.pack("<HHIQIIHHIQQQQ", kind, 0x101, 64, len(content), compressed, 0, 0, 9,
                         100, 0, flags | 0x11, 0, len(data))
    return header + content


def fat_binary(*entries, magic=0xBA55ED50, version=1):
    return struct.pack("<IHHQ", magic, version, 16, sum(map(len, entries))) + b"".join(entries)


def register(data, names, variables=(), magic=0x466243B1):
    """The host's handles of kernels and of variables: addresses that stand for them."""
    data = ctypes.create_string_buffer(data, len(data))
    wrapper = ctypes.create_string_buffer(
        struct.pack("<IIQQ", magic, 1, ctypes.addressof(data), 0))
    image = c_void_p(cuda.__cudaRegisterFatBinary(wrapper))
    handles = []
    for name in names:
        handle = ctypes.create_string_buffer(1)
        text = ctypes.create_string_buffer(name.encode())
        cuda.__cudaRegisterFunction(image, handle, handle, text, -1, None, None, None, None,
                                    None)
        handles.append(handle)
        KEPT.append(text)
    for name in variables:
        handle = ctypes.create_string_buffer(1)
        text = ctypes.create_string_buffer(name.encode())
        cuda.__cudaRegisterVar(image, handle, None, text, 0, c_size_t(4), 0, 0)
        handles.append(handle)
        KEPT.append(text)
    cuda.__cudaRegisterFatBinaryEnd(image)
    KEPT.extend([data, wrapper, handles])
    return handles


def allocate(count):
    pointer = c_void_p()
    show("cudaMalloc", cuda.cudaMalloc(byref(pointer), c_size_t(count)))
    return pointer


def upload(array):
    pointer = allocate(array.nbytes)
    cuda.cudaMemcpy(pointer, c_void_p(array.ctypes.data), c_size_t(array.nbytes), TO_DEVICE)
    return pointer


def launch(handle, arguments, grid=4, block=128, shared=0, attributes=()):
    pointers = (c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
    listed = (Attribute * max(1, len(attributes)))()
    for slot, (number, *values) in zip(listed, attributes):
        slot.id = number
        slot.value[:len(values)] = values
    config = Config(Dim3(grid, 1, 1), Dim3(block, 1, 1), shared, None, listed, len(attributes))
    return show("cudaLaunchKernelExC",
                cuda.cudaLaunchKernelExC(byref(config), handle, pointers))


def scale(text, count=512, flags=0, **options):
    """y = x / 2 of `count` numbers, in buffers of 512."""
    handle, = register(fat_binary(entry(text, flags)), ["scale_f32"])
    x = np.arange(512, dtype=np.float32)
    source, target = upload(x), allocate(x.nbytes)
    launch(handle, [target, source, c_float(0.5), c_uint64(count)], **options)
    show("cudaDeviceSynchronize", cuda.cudaDeviceSynchronize())
    y = np.zeros_like(x)
    show("cudaMemcpy", cuda.cudaMemcpy(c_void_p(y.ctypes.data), target, c_size_t(y.nbytes),
                                       TO_HOST))
    print("equal:", bool((y == x / 2).all()))
    show("cudaFree", cuda.cudaFree(target))


def plain(text):
    scale(text)


def zstd(text):
    scale(text, flags=ZSTD)


def lz4(text):
    scale(text, flags=LZ4)


def clusters(text):
    scale(text, attributes=[(4, 2, 1, 1), (6, 1)])


def outside(text):
    scale(text, count=640, grid=5)


def limit(text):
    scale(text, block=2048)


def shared(text):
    scale(text, shared=48 * 1024 + 1)


def large_cluster(text):
    scale(text, grid=16, attributes=[(4, 16, 1, 1)])


def cooperative(text):
    scale(text, attributes=[(2, 1)])


def unknown_attribute(text):
    scale(text, attributes=[(9, 1)])


def other_chip(text):
    scale(text.replace(".target sm_90", ".target sm_120a"))


def bad_ptx(text):
    scale(text.replace("mov.u32 %cta", "move.u32 %cta"))


def no_kernel(text):
    handle, = register(fat_binary(entry(text)), ["absent"])
    launch(handle, [])
    launch(ctypes.create_string_buffer(1), [])


def damaged(text):
    good = fat_binary(entry(text))
    for data in (fat_binary(entry(text), magic=1), fat_binary(entry(text), version=2),
                 good[:8] + struct.pack("<Q", 20) + good[16:],
                 good[:24] + struct.pack("<Q", 1 << 40) + good[32:],
                 fat_binary(entry(text, ZSTD).replace(b"\x28\xb5\x2f\xfd", b"\0\0\0\0", 1)),
                 fat_binary(entry(text, kind=2))):
        handle, = register(data, ["scale_f32"])
        launch(handle, [])


def copies(text):
    array = np.arange(8, dtype=np.uint8)
    host, device, other = c_void_p(array.ctypes.data), upload(array), allocate(8)
    show("both on the device", cuda.cudaMemcpy(other, device, c_size_t(8), ON_DEVICE))
    show("set", cuda.cudaMemset(other, 7, c_size_t(4)))
    show("back", cuda.cudaMemcpy(host, other, c_size_t(8), 4))
    print(array)
    show("too many", cuda.cudaMemcpy(device, host, c_size_t(9), TO_DEVICE))
    show("to the host as to the device", cuda.cudaMemcpy(host, host, c_size_t(8), TO_DEVICE))
    show("from the host as from the device", cuda.cudaMemcpy(host, host, c_size_t(8), TO_HOST))
    show("kind", cuda.cudaMemcpy(host, host, c_size_t(8), 5))
    show("set of the host", cuda.cudaMemset(host, 0, c_size_t(8)))
    show("free of the host", cuda.cudaFree(host))
    show("last", cuda.cudaGetLastError())
    show("none since", cuda.cudaGetLastError())
    show("all of it", cuda.cudaMalloc(byref(c_void_p()), c_size_t(1 << 40)))


def device(text):
    value = c_int()
    for attribute in (16, 75, 76, 97, 13):
        if show(f"attribute {attribute}",
                cuda.cudaDeviceGetAttribute(byref(value), attribute, 0)) == 0:
            print(value.value)
    show("device 1", cuda.cudaSetDevice(1))
    properties = ctypes.create_string_buffer(1008)
    show("properties", cuda.cudaGetDeviceProperties(properties, 0))
    print(properties.value.decode(), struct.unpack_from("ii", properties, 360))
    print(cuda.cudaGetErrorString(700).decode())


def occupancy(text):
    handle, = register(fat_binary(entry(text)), ["scale_f32"])
    blocks = c_int()
    for threads, size in ((1024, 0), (128, 100 << 10), (2048, 0)):
        cuda.cudaOccupancyMaxActiveBlocksPerMultiprocessor(byref(blocks), handle, threads,
                                                           c_size_t(size))
        print("blocks", blocks.value)
    for attribute, value in ((8, 227 << 10), (8, (227 << 10) + 1), (14, 1), (10, 1)):
        show(f"set {attribute} to {value}", cuda.cudaFuncSetAttribute(handle, attribute, value))
    # Of the threads' limit, of that of blocks, and of shared memory, which each block has
    # a kibibyte more of.
    for threads, size in ((65, 0), (32, 0), (0, 0), (64, 227 << 10), (64, (227 << 10) + 1),
                          (64, 56 << 10)):
        cuda.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            byref(blocks), handle, threads, c_size_t(size), 1)
        print(f"{threads} threads, {size} bytes: {blocks.value}")
    clusters = c_int(-1)
    for sizes in ((1, 1, 1), (2, 2, 1), (16, 1, 1), (17, 1, 1), (0, 1, 1)):
        attribute = Attribute(4, 0, (c_uint * 16)(*sizes))
        config = Config(Dim3(64, 1, 1), Dim3(512, 2, 1), 0, None, ctypes.pointer(attribute), 1)
        show(f"clusters of {sizes}",
             cuda.cudaOccupancyMaxActiveClusters(byref(clusters), handle, byref(config)))
        print(clusters.value)
    config.count = 0
    cuda.cudaOccupancyMaxActiveClusters(byref(clusters), handle, byref(config))
    print("without an attribute:", clusters.value)
    show("no kernel", cuda.cudaOccupancyMaxActiveClusters(byref(clusters), None, byref(config)))


def attributes(text):
    """cudaFuncAttributes of kernels, before and after they are set."""
    compiled = text.replace(".visible .entry cluster_rank(.param .u64 ranks)",
                            ".visible .entry cluster_rank(.param .u64 ranks) .maxntid 96 "
                            ".explicitcluster .reqnctapercluster 2, 2")
    scale, tile, rank = register(fat_binary(entry(compiled)),
                                 ["scale_f32", "tile_f32", "cluster_rank"])
    memory = ctypes.create_string_buffer(144)
    for handle in (scale, tile, rank):
        show("attributes", cuda.cudaFuncGetAttributes(memory, handle))
        print(*struct.unpack_from("QQQ", memory), *struct.unpack_from("14i", memory, 24))
    cuda.cudaFuncSetAttribute(scale, 8, 100_000)
    cuda.cudaFuncSetAttribute(scale, 14, 1)
    cuda.cudaFuncGetAttributes(memory, scale)
    print(*struct.unpack_from("QQQ", memory), *struct.unpack_from("14i", memory, 24))
    show("no kernel", cuda.cudaFuncGetAttributes(memory, None))


def preferred(text):
    """Kernels run in the smaller of two sizes of clusters."""
    rank, = register(fat_binary(entry(text)), ["cluster_rank"])
    target = allocate(32)

    def run(*attributes):
        launch(rank, [target], grid=8, block=1, attributes=attributes)
        ranks = np.zeros(8, np.uint32)
        cuda.cudaMemcpy(c_void_p(ranks.ctypes.data), target, c_size_t(32), TO_HOST)
        print(ranks)
    run((4, 2, 1, 1), (11, 4, 1, 1))
    run((11, 8, 1, 1), (4, 4, 1, 1))
    for sizes in ((3, 1, 1), (1, 1, 1), (4, 0, 1)):
        launch(rank, [target], grid=8, block=1, attributes=[(4, 2, 1, 1), (11, *sizes)])


def events(text):
    first, second, time = c_void_p(), c_void_p(), c_float(-1)
    cuda.cudaEventCreate(byref(first))
    cuda.cudaEventCreate(byref(second))
    show("never recorded", cuda.cudaEventElapsedTime(byref(time), first, second))
    cuda.cudaEventRecord(first, None)
    cuda.cudaEventRecord(second, None)
    show("recorded", cuda.cudaEventElapsedTime(byref(time), first, second))
    print("forward:", time.value >= 0)


def missing(text):
    show("cudaMallocManaged", cuda.cudaMallocManaged(byref(c_void_p()), c_size_t(8), 1))
    found, status = c_void_p(), c_int()
    cuda.cudaGetDriverEntryPointByVersion(b"cuMemCreate", byref(found), 13000, c_uint64(0),
                                          byref(status))
    print("cuMemCreate:", found.value, status.value)


def find_encoder(name, *more):
    """A function of the driver that makes tensor maps; `more` are the types of what it is given
    behind five addresses."""
    found, status = c_void_p(), c_int()
    cuda.cudaGetDriverEntryPointByVersion(name, byref(found), 12000, c_uint64(0), byref(status))
    cuda.cudaFree(None)  # makes the context
    return ctypes.CFUNCTYPE(
        c_int, c_void_p, c_int, c_uint, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, *more,
        c_int, c_int, c_int, c_int)(found.value)


# Memory for a tensor map, and an address in it that one may have.
MAP = ctypes.create_string_buffer(256)
MAP_PLACE = ctypes.addressof(MAP) + -ctypes.addressof(MAP) % 64


def tensor_map(text):
    encode = find_encoder(b"cuTensorMapEncodeTiled")

    def call(what, place=MAP_PLACE, kind=0, rank=2, dims=(64, 32), strides=(64,), box=(64, 8),
             steps=(1, 1), interleave=0, swizzle=0, promotion=0, fill=0):
        arrays = [(c_uint64 * 5)(*dims), (c_uint64 * 5)(*strides), (c_uint * 5)(*box),
                  (c_uint * 5)(*steps)]
        show(what, encode(place, kind, rank, 0x700000000000, *arrays, interleave, swizzle,
                          promotion, fill))
    call("good")
    call("map", place=MAP_PLACE + 8)
    call("rank", rank=6)
    call("type", kind=99)
    call("strides", strides=(60,))
    call("box", box=(512, 8))
    call("swizzle", swizzle=1)
    call("fill", fill=1)


def im2col_map(text):
    encode = find_encoder(b"cuTensorMapEncodeIm2col", c_uint, c_uint, c_void_p)

    def call(what, rank=4, lower=(-1, -1), upper=(-1, -1), channels=64, pixels=128):
        arrays = [(c_uint64 * 5)(64, 9, 14, 64), (c_uint64 * 5)(128, 1152, 16128),
                  (c_int * 3)(*lower), (c_int * 3)(*upper)]
        show(what, encode(MAP_PLACE, 6, rank, 0x700000000000, *arrays, channels, pixels,
                          (c_uint * 5)(1, 1, 1, 1, 1), 0, 3, 0, 0))
    call("good")
    call("rank", rank=2)
    call("channels", channels=512)
    call("pixels", pixels=2048)
    call("corner", lower=(-200, 0))
    call("wide corner", upper=(65535, 0))


def symbols(text):
    kernel, total, step, absent = register(fat_binary(entry(text)), ["add_step"],
                                           ["total", "step", "absent"])
    word = c_uint(3)
    size, start = c_size_t(4), c_size_t(0)
    show("to", cuda.cudaMemcpyToSymbol(step, byref(word), size, start, TO_DEVICE))
    launch(kernel, [], grid=2, block=2)
    show("from", cuda.cudaMemcpyFromSymbol(byref(word), total, size, start, TO_HOST))
    print(word.value)
    show("beyond", cuda.cudaMemcpyToSymbol(step, byref(word), size, size, TO_DEVICE))
    show("absent", cuda.cudaMemcpyToSymbol(absent, byref(word), size, start, TO_DEVICE))
    show("none", cuda.cudaMemcpyToSymbol(byref(word), byref(word), size, start, TO_DEVICE))


def brackets(text):
    """What nvcc makes of kernel<<<grid, block>>>()."""
    kernel, total = register(fat_binary(entry(text)), ["add_step"], ["total"])
    handle, grid, block = c_void_p(), Dim3(), Dim3()
    size, stream = c_size_t(), c_void_p()
    pop = (byref(grid), byref(block), byref(size), byref(stream))
    show("nothing to pop", cuda.__cudaPopCallConfiguration(*pop))
    cuda.__cudaPushCallConfiguration(Dim3(2, 1, 1), Dim3(4, 1, 1), c_size_t(16), None)
    show("get", cuda.__cudaGetKernel(byref(handle), kernel))
    show("pop", cuda.__cudaPopCallConfiguration(*pop))
    print(grid.x, block.x, size.value)
    show("launch", cuda.__cudaLaunchKernel(handle, grid, block, None, size, stream))
    show("no kernel", cuda.__cudaGetKernel(byref(handle), total))
    register(b"", [], magic=1)


def unwritten(text):
    """Never-written bytes stay so in a copy, and what was freed is gone."""
    kernel, = register(fat_binary(entry(text)), ["read_word"])
    first, second, target = allocate(4), allocate(4), allocate(4)
    cuda.cudaMemcpy(second, first, c_size_t(4), ON_DEVICE)
    launch(kernel, [second, target], grid=1, block=1)
    show("free", cuda.cudaFree(second))
    show("free again", cuda.cudaFree(second))
    launch(kernel, [second, target], grid=1, block=1)
    show("cudaStreamSynchronize", cuda.cudaStreamSynchronize(None))


def rows(text):
    array = np.arange(16, dtype=np.uint8)
    wide = upload(array)
    cuda.cudaMemset(wide, 0, c_size_t(16))
    host = c_void_p(array.ctypes.data)
    show("2D", cuda.cudaMemcpy2D(wide, c_size_t(8), host, c_size_t(4), c_size_t(2),
                                 c_size_t(2), TO_DEVICE))
    cuda.cudaMemcpy(host, wide, c_size_t(16), TO_HOST)
    print(array)
    attributes = (c_uint64 * 11)()
    for name, pointer in (("device", wide), ("host", host)):
        cuda.cudaPointerGetAttributes(attributes, pointer)
        print(name, attributes[0] & 0xFFFFFFFF)
    free, total = c_size_t(), c_size_t()
    cuda.cudaMemGetInfo(byref(free), byref(total))
    print("used", total.value - free.value)
    pinned = c_void_p()
    show("pinned", cuda.cudaHostAlloc(byref(pinned), c_size_t(5), 0))
    show("unpinned", cuda.cudaFreeHost(pinned))
    show("mapped", cuda.cudaHostAlloc(byref(pinned), c_size_t(5), 2))


def driver(text):
    other = ctypes.CDLL("libcuda.so.1")
    words = np.zeros(6, dtype=np.uint32)
    memory, host = upload(words), c_void_p(words.ctypes.data)
    show("8 bits", other.cuMemsetD8_v2(memory, 0xAB, c_size_t(3)))
    show("16 bits", other.cuMemsetD16Async(c_void_p(memory.value + 6), 0x1234, c_size_t(3), None))
    show("32 bits", other.cuMemsetD32Async(c_void_p(memory.value + 12), 0x89ABCDEF, c_size_t(2),
                                           None))
    show("back", cuda.cudaMemcpy(host, memory, c_size_t(24), TO_HOST))
    print(*(f"{word:08x}" for word in words))
    show("unaligned", other.cuMemsetD32_v2(c_void_p(memory.value + 2), 0, c_size_t(1)))
    show("too many", other.cuMemsetD16_v2(memory, 0, c_size_t(13)))
    show("far too many", other.cuMemsetD32_v2(memory, 0, c_size_t(1 << 62)))
    show("of the host", other.cuMemsetD8Async(host, 0, c_size_t(1), None))
    text = ctypes.c_char_p()
    show("text", other.cuGetErrorString(1, byref(text)))
    print(text.value.decode())
    show("no text", other.cuGetErrorString(12345, byref(text)))
    print(text.value)


with open(sys.argv[1]) as file:
    globals()[sys.argv[2]](file.read())
