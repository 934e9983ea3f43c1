@0x9f0b3c5d7a1e2468;
# The messages inside a tape's chunks. docs/tape-format.md says how chunks are framed and how each
# column is encoded. Fields are only ever added; a change that an older reader would misread raises
# the major version in schema/tape/tape_format.h.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("heaptape::schema::wire");

enum Encoding {
  bytes @0;             # one byte a value
  varint @1;            # LEB128
  addressSameClass @2;  # version 1: the distance to the last block of the same size class and thread
  addressLastFreed @3;  # varint of the distance to the last address of this column and thread
  addressLastUsed @4;   # version 1: the distance to the address this thread's last call named
  addressFreeList @5;   # varint: a place in the free list of the class, or 16 + a distance
}

struct Column {
  encoding @0 :Encoding;
  data @1 :Data;
}

struct AddressRange {
  begin @0 :UInt64;
  bytes @1 :UInt64;
}

struct ProcessSample {
  event @0 :UInt64;
  timeNs @1 :UInt64;
  residentBytes @2 :UInt64;  # anonymous memory, with what is in swap
  regions @3 :List(AddressRange);
  mallocBytes @4 :UInt64;    # of residentBytes, what is malloc's, if that is known
  mallocIsKnown @5 :Bool;
  fileBytes @6 :UInt64;
  sharedBytes @7 :UInt64;
  peakBytes @8 :UInt64;      # the most that was resident in all, so far; 0: not known
  stackBytes @9 :UInt64;     # of residentBytes, what is in stacks and not malloc's, if that is known
  stackIsKnown @10 :Bool;
  hugeBytes @11 :UInt64;     # in pages of hugetlbfs, which no other field has
  owners @12 :List(OwnedMemory);  # of residentBytes, what is neither malloc's nor in stacks
}

struct OwnedMemory {
  owner @0 :Text;            # is_owner_name
  bytes @1 :UInt64;
}

# "After so many calls, and so long after the recording began, somebody said NAME."
struct Mark {
  event @0 :UInt64;
  timeNs @1 :UInt64;
  name @2 :Data;  # see is_mark_name
}

# Code of a file in the address space of the process, or a function that it made at run time.
struct CodeMapping {
  frames @0 :UInt32;      # on the tape when it was seen
  begin @1 :UInt64;
  bytes @2 :UInt64;
  fileOffset @3 :UInt64;  # of begin
  path @4 :Data;
  buildId @5 :Data;
  function @6 :Data;      # the name of what was made at run time; of a file: empty
}

struct EventChunk {
  firstEvent @0 :UInt64;  # calls before this chunk
  count @1 :UInt32;
  unitLog2 @2 :UInt8;     # addresses of this chunk are multiples of 1 << unitLog2
  ops @3 :Column;         # every call
  sizes @4 :Column;       # calls that take a size
  addresses @5 :Column;   # calls that return a block
  freed @6 :Column;       # calls that give up a block whose age is 1; version 1: that give one up
  alignments @7 :Column;  # calls that take an alignment
  threads @8 :Column;     # pairs: thread, run length
  times @9 :Column;       # pairs: calls since the last sample, nanoseconds since it
  samples @10 :List(ProcessSample);
  ends @11 :Column;       # pairs: calls since the last thread end, thread
  marks @12 :List(Mark);
  stacks @13 :Column;     # calls that return a block: the stack, by the number of its inner frame
  frames @14 :Column;     # pairs: own number - caller's, return address - that of the frame before
  firstFrame @15 :UInt32; # frames on the tape before this chunk
  mappings @16 :List(CodeMapping);
  sizeClasses @17 :UInt8; # which sizes share a free list: size_classes.h
  ages @18 :Column;       # calls that give up a block: its age, the lower 8 bits; not in version 1
  highAges @19 :Column;   # the bits above

  # Reserved for what later versions record beside the calls. Readers pass over them.
  uncertainty @20 :Column;  # of the order between threads
  # fives: calls since the last one, thread, op of steering_op.h, and the two arguments of a call
  # that steers the allocator: mallopt, malloc_trim, mallctl
  steering @21 :Column;
  domains @22 :Column;      # which of several allocators of the process a call went to
  # sevens: calls since the last one, thread, op of mapping_op.h, where the range begins - where the
  # last one's does, its bytes, its detail, and the return address - that of the last one
  mapped @23 :Column;

  # Only keyframes have these, and they have no times, ends, marks and calls beside malloc's: their
  # calls hand out what is live after firstEvent calls. Their frames and mappings are those since the keyframe before.
  births @24 :Column;      # of each block: the number of its call - that of the block before
  liveBlocks @25 :UInt64;  # in all chunks of this keyframe
}

# What came to a chunk since the part before, while the chunk is being filled. Only in unfinished
# tapes: docs/tape-format.md says how parts become a chunk.
struct EventPart {
  events @0 :EventChunk;    # each column has what was added to it; firstEvent and count are the part's
  eventsBefore @1 :UInt32;  # in the chunk
  openThread @2 :UInt32;    # the run that the threads column does not have yet
  openRun @3 :UInt32;       # its length, from its first event on
}

struct Header {
  writer @0 :Text;
  commandLine @1 :List(Data);  # bytes: a command line need not be UTF-8
  executable @2 :Data;
  allocator @3 :Data;
  pid @4 :UInt32;
  parentPid @5 :UInt32;
  pageBytes @6 :UInt32;
  startUnixNs @7 :UInt64;
  initialBreak @8 :UInt64;
  clock @9 :UInt8;
  stackMode @10 :UInt8;
  stackDepth @11 :UInt32;
  stackEveryBytes @12 :UInt64;
  importedFrom @13 :Text;      # the format of the trace that the tape was made of; empty: recorded
  absent @14 :UInt32;          # what that trace has not: a bit for each Absent of tape_info.h
  allocatorFamily @15 :Text;   # "glibc", "jemalloc", ...; as the two that follow, empty: not known
  allocatorVersion @16 :Text;  # as the library says: "5.3.0"
  libc @17 :Text;              # of the recorded process: "glibc 2.36", "musl"
  settings @18 :List(Data);    # "NAME=VALUE" of its environment, for allocators
  # Sizes whose calls all have their stacks: pairs of the least and the most bytes. The others are
  # those of stackEveryBytes, or have none if that is 0. Empty: that says it alone.
  stackSizes @19 :List(UInt64);
}

struct Summary {
  events @0 :UInt64;
  allocations @1 :UInt64;
  frees @2 :UInt64;
  reallocations @3 :UInt64;
  failed @4 :UInt64;
  threads @5 :UInt64;
  lostEvents @6 :UInt64;
  unrepairedInversions @7 :UInt64;
  lostRanges @8 :UInt64;
  repairedInversions @9 :UInt64;
  unknownFrees @10 :UInt64;
  nestedCalls @11 :UInt64;
  bootstrapCalls @12 :UInt64;
  stalls @13 :UInt64;
  stallNs @14 :UInt64;
  durationNs @15 :UInt64;
  endReason @16 :UInt8;
  endStatus @17 :Int32;
  lostRingFull @18 :UInt64;  # of lostEvents, by cause
  lostRecorderStopped @19 :UInt64;
  lostNoRing @20 :UInt64;
  lostLeftHooks @21 :UInt64;
  lostMalformed @22 :UInt64;
  lostUnknownFrees @23 :UInt64;
  lostDoubleFrees @24 :UInt64;
  largestSample @25 :ProcessSample;  # the one with most residentBytes, without regions; may be absent
  innerAllocators @26 :List(InnerAllocator);
  lateNs @27 :UInt64;  # since the tape began: earlier calls are not on it

  # A file with allocators inside. Calls to those allocators are not on the tape.
  struct InnerAllocator {
    file @0 :Data;              # its path, as the process had it mapped
    families @1 :List(Text);    # "jemalloc", "go": inner_heaps.h
  }
}

# In the order of their numbers, the first ones of all.
struct ThreadList {
  threads @0 :List(Thread);

  struct Thread {
    id @0 :UInt32;  # as the process sees it
    name @1 :Data;  # bytes: as Linux has it, without the 0
  }
}

# The heap of a forked process at its beginning, which is that of its parent at the fork.
struct Inheritance {
  tape @0 :Data;           # its parent's, a file name, in the same directory; empty: `blocks` says all
  startUnixNs @1 :UInt64;  # as that tape's header has it
  events @2 :UInt64;       # calls on that tape before the fork
  blocks @3 :UInt64;       # so many of the first calls of this tape hand out blocks of before it
  thread @4 :UInt32;       # that forked, as that tape numbers it: the first one of this process
  dropped @5 :UInt64;      # calls of the process that came before those kept; `blocks` are live
  firstEvent @6 :UInt64;   # of the tape, as its chunks number events
}

struct IndexEntry {
  offset @0 :UInt64;
  kind @1 :UInt32;
  eventCount @2 :UInt32;
  firstEvent @3 :UInt64;
}

struct Index {
  chunks @0 :List(IndexEntry);
}

# The list of tapes that one recording made, written as JSON beside them.
struct Manifest {
  version @0 :UInt32;
  command @1 :List(Text);
  processes @2 :List(Process);
  unrecorded @3 :List(Unrecorded);

  struct Process {
    tape @0 :Text;  # file name, in the folder of the manifest
    pid @1 :UInt32;
    parentPid @2 :UInt32;
    executable @3 :Text;
    commandLine @4 :List(Text);
    events @5 :UInt64;
    bytes @6 :UInt64;
    lostEvents @7 :UInt64;
    ended @8 :Text;
    largestSample @9 :ProcessSample;  # that of the tape's summary; absent if it has none
    title @10 :Text;  # its command line when it was sampled last, with blanks; empty: commandLine
    live @11 :LiveBytes;  # only where the calls were counted: not in the file that a recording makes
    interval @12 :UInt32; # of the recording, from 1; 0 in older manifests, which have one
  }

  # Of the blocks of a tape.
  struct LiveBytes {
    peak @0 :UInt64;
    end @1 :UInt64;
  }

  # A program, or a library in one, whose calls are on no tape.
  struct Unrecorded {
    program @0 :Text;  # path, as it was executed or opened
    reason @1 :Text;
    times @2 :UInt64;
    families @3 :List(Text);  # of allocators inside; then only calls to them are missing
  }
}
