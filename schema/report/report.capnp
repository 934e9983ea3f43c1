@0xb2d4e6f81a3c5d79;
# The replay report. Written as JSON by Cap'n Proto's codec, so its names are those in JSON, CSV
# headers, tables and --fail-if. docs/metrics.md defines every number. Integers up to 2^53 are JSON
# numbers, greater ones strings. Fields are only ever added; a change of meaning raises `version`.
# docs/report.schema.json is made from it: see tests/unit/schema/report/report_schema_test.cc.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("heaptape::schema::wire");

const reportVersion :UInt32 = 1;

# The unit of a metric, required for every number of a Run outside its lists. A struct's numbers
# without a unit have that of the field that holds the struct.
enum Unit {
  count @0;
  bytes @1;
  ns @2;
  ratio @3;
}
annotation unit @0xc1f0a7d93b5e2846 (field) :Unit;
const unitAnnotation :UInt64 = 0xc1f0a7d93b5e2846;  # the same, for the code that reads it

struct Report {
  version @0 :UInt32;
  tape @1 :TapeInfo;
  runs @2 :List(Run);
  moments @3 :List(Moment);  # found on the tape, by call
  program @4 :ProgramInfo;   # absent if all runs failed
  process @5 :ProcessTimeline;  # absent if no sample says which part is malloc's
  verdict @6 :Verdict;       # what to know first
}

# About one run at one moment: docs/metrics.md, "The verdict".
struct Verdict {
  headline @0 :Text;
  run @1 :Text;              # its label; empty: no run with memory of its own finished
  moment @2 :Text;           # "peak", "plateau" or "exit"
  heldBytes @3 :UInt64;      # resident in its heap
  liveBytes @4 :UInt64;      # part of these
  findings @5 :List(Finding);  # the first matters most
  errorShare @6 :Float64;    # of resident bytes, that predictions may be wrong by at least

  struct Finding {
    kind @0 :Text;           # "besideMalloc", "holes", "trim", "purge", "allocator", "purged", "slack", "caches", "metadata", "unseen", "live", "nothing", "noBetter"
    bytes @1 :UInt64;        # that it is about
    errorBytes @2 :UInt64;   # of a prediction: it may be wrong by so much; 0 if it is none
    evidence @3 :Text;       # a sentence
    action @4 :Text;         # what to do; empty if there is nothing
    allocator @5 :Text;      # label of the run that would hold less; absent if none would
    pins @6 :Pins;           # of "holes": who keeps most of them; absent if not known
    site @7 :Text;           # that asked for most of these, or of what is live; absent if not known
  }
  struct Pins {              # blocks of one size
    sizeBytes @0 :UInt64;    # of each
    count @1 :UInt64;
    bytes @2 :UInt64;        # resident, in the holes that they pin
    firstBirth @3 :UInt64;   # number of the call that made the first, from 1
    lastBirth @4 :UInt64;
  }
}

struct Moment {
  name @0 :Text;     # "peak", "plateau", "exit", "end", "mark:NAME"
  at @1 :UInt64;     # after so many calls
  timeNs @2 :UInt64; # since the recording began; 0 if the tape has no times
  process @3 :SampledProcess;  # nearest to it; absent if it was not sampled
}

# Who had the anonymous memory of the process, over time: one entry per sample in each array. Where
# there are many samples, evenly many in a row count as one: that with most anonymous memory.
struct ProcessTimeline {
  at @0 :List(UInt64);              # after so many calls
  timeNs @1 :List(UInt64);          # since the recording began
  anonymousBytes @2 :List(UInt64);  # of each sample, like the next three
  mallocBytes @3 :List(UInt64);
  stackBytes @4 :List(UInt64);
  owners @5 :List(Owner);           # with most bytes in a sample first; the rest is not listed

  struct Owner {
    owner @0 :Text;                 # as in SampledProcess
    bytes @1 :List(UInt64);
  }
}

# The memory of the recorded process, whatever the allocator, when it was sampled.
struct SampledProcess {
  at @0 :UInt64;              # after so many calls
  timeNs @1 :UInt64;          # since the recording began
  anonymousBytes @2 :UInt64;  # resident or in swap
  anonymous @3 :Parts;        # absent if it is not known which part is malloc's
  fileBytes @4 :UInt64;       # resident pages of files
  sharedBytes @5 :UInt64;     # resident shared memory
  hugeBytes @6 :UInt64;       # in pages of hugetlbfs, which no other field has

  struct Parts {
    mallocBytes @0 :UInt64;
    besideMallocBytes @1 :UInt64;
    stackBytes @2 :UInt64;    # of besideMallocBytes, in stacks of threads
    owners @3 :List(Owner);   # of besideMallocBytes, not in stacks; most bytes first; absent if not known

    struct Owner {
      owner @0 :Text;         # "libarrow"; of letters, digits, "-", "_", "+" and "."
      bytes @1 :UInt64;
    }
  }
}

# The program's use of its blocks, whatever the allocator: for the calls that were replayed.
struct ProgramInfo {
  lifetimes @0 :TapeStats.Lifetimes;  # in calls; the CDF has a point for each power of two
  resizes @1 :Resizes;                # as recorded; absent if an imported trace lacks addresses
  growthChains @2 :TapeStats.GrowthChains;
  sizes @3 :List(SizeBand);           # of requests, ascending

  liveAtPeak @4 :List(Cohort);        # the blocks alive at the moment "peak", and at the end
  liveAtEnd @5 :List(Cohort);

  struct Cohort {          # blocks of one size requested in one sixteenth of the calls
    sizeBytes @0 :UInt64;  # of each; if otherSizes, the least of them, a power of two; 0: of all
    otherSizes @1 :Bool;   # the unlisted sizes of less than twice sizeBytes
    window @2 :UInt32;     # which sixteenth, from 0
    count @3 :UInt64;
    bytes @4 :UInt64;      # of the blocks; for pins, of the holes beside them
    firstBirth @5 :UInt64; # numbers of the first and the last requesting call, from 1
    lastBirth @6 :UInt64;
  }

  struct SizeBand {
    log2Size @0 :UInt32;    # sizes of at least 1 << log2Size bytes and less than twice that; 0 is with 1
    calls @1 :UInt64;       # that requested such a size and got it, resizes included
    askedBytes @2 :UInt64;  # requested by them
    peakCount @3 :UInt64;   # blocks of such a size at the moment "peak"
    peakBytes @4 :UInt64;
  }
}

struct TapeInfo {
  path @0 :Text;
  events @1 :UInt64;
  allocations @2 :UInt64;
  frees @3 :UInt64;
  reallocations @4 :UInt64;
  threads @5 :UInt64;
  bytesPerEvent @6 :Float64;
  losses @7 :Losses;
  command @8 :Text;
  allocator @9 :Text;  # path of the library that served the recorded calls
  sites @10 :TapeSites;  # absent if the tape has no stacks
  stacks @11 :StackTree; # the same
  import @12 :ImportFacts;  # absent if the tape was recorded
  allocatorFamily @13 :Text;   # as in TapeFacts, like the next two
  allocatorVersion @14 :Text;
  libc @15 :Text;
  innerAllocators @16 :List(InnerAllocator);
  largestSample @17 :SampledProcess;  # as in TapeFacts
  inheritedBlocks @18 :UInt64;        # the same
}

# A file with allocators inside. Calls to those allocators are not on the tape.
struct InnerAllocator {
  file @0 :Text;
  families @1 :List(Text);  # "jemalloc", "mimalloc", "tcmalloc", "pymalloc", "go", "java", "v8", "php", "ruby", "gcc"
  remedies @2 :List(Text);  # what a user can do to see or to bound that memory
  owner @3 :Text;           # the file's name among the owners of memory: SampledProcess
}

# The stacks of a tape as one tree, for flame graphs: functions below their callers.
struct StackTree {
  leastShare @0 :Float64;       # nodes with less than this share of all, by every value, are merged
  mergedNodes @1 :UInt64;       # how many were merged
  names @2 :List(Text);         # of functions, like the next five
  moduleOf @3 :List(UInt32);    # index into modules
  fileOf @4 :List(UInt32);      # index into files
  lines @5 :List(UInt32);       # 0 if unknown, or more than one
  modules @6 :List(Text);       # last parts of paths; empty if unknown
  files @7 :List(Text);
  frames @8 :List(UInt32);      # of nodes, parents first: names index + 1; 0: merged, or the root
  depths @9 :List(UInt32);      # of nodes; of the root, which comes first, 0
  peakBytes @10 :List(UInt64);  # of a node and all below it, like the next four and mappedBytes: see SiteTotals
  liveBytes @11 :List(UInt64);
  askedBytes @12 :List(UInt64);
  calls @13 :List(UInt64);
  temporaries @14 :List(UInt64);
  pinned @15 :List(Pinned);     # of the runs whose placements are meaningful
  struct Pinned {
    label @0 :Text;             # of the run
    moments @1 :List(Text);     # of the tape: those at one call
    bytes @2 :List(UInt64);     # on resident pages of holes beside blocks, of a node and all below it
  }
  mappedBytes @16 :List(UInt64);  # empty in reports of older versions
}

# The sites of the blocks, for the calls replayed. Sites and `others` add up to `total`.
struct TapeSites {
  peakAt @0 :UInt64;                 # number of the call after which live bytes were at their peak
  total @1 :SiteStats.SiteTotals;
  others @2 :SiteStats.SiteTotals;   # of the unlisted sites
  list @3 :List(SiteStats.Site);     # those with most bytes at the peak, at the end or requested
  sampling @4 :SiteStats.Sampling;   # absent if the stacks of all calls were recorded
}

struct Losses {
  lostEvents @0 :UInt64 $unit(count);
  unrepairedInversions @1 :UInt64 $unit(count);
  lostRanges @2 :UInt64 $unit(count);
}

# The allocator that served malloc in a replay.
struct RunAllocator {
  family @0 :Text;   # "glibc", "jemalloc", ...; its file name if it belongs to none
  version @1 :Text;  # the library's own; empty if it gives none
  library @2 :Text;  # path
}

struct Run {
  label @0 :Text;
  backend @1 :Text;
  threads @2 :Text;
  touch @3 :Text;
  accounting @4 :Accounting;
  end @5 :State;
  peak @6 :Peak;
  fidelity @7 :Fidelity;
  resizes @8 :Resizes;
  time @9 :Time;
  counters @10 :List(Counter);
  latency @11 :List(Latency);
  timeline @12 :Timeline;
  growth @13 :Growth;
  clock @14 :Text;          # the clock of a real allocator: "tape" or "real"; empty for others
  failure @15 :Failure;     # only if the allocator failed: then there are no figures
  notes @16 :List(Text);  # sentences: limits of the run's figures, and anything else worth knowing
  incomparable @17 :Text;   # why it has no fidelity; empty if it has
  actions @18 :List(Action);  # of --do, in the order of the tape
  atPeak @19 :State;          # at the moments of the report
  atPlateau @20 :State;       # absent if there is no plateau
  atExit @21 :State;
  heapGrowths @22 :List(HeapGrowth);  # the largest first
  atMarks @23 :List(MarkState);       # by call
  spreads @24 :List(Spread);          # of the metrics that differed between repeats
  # Of the recorded run: "returnedPages" (on glibc), "residentPages" (on others) or "residentSizes" (never sampled).
  # Numbers that depend on these mean nothing: docs/metrics.md. Absent if nothing is missing.
  lacks @25 :List(Text);
  allocator @26 :RunAllocator;  # of a real allocator that completed the run
}

struct Spread {
  metric @0 :Text;  # its name, as in --fail-if
  least @1 :Float64;
  greatest @2 :Float64;
}

struct MarkState {
  name @0 :Text;  # of the mark, without "mark:"
  state @1 :State;
}

struct Failure {
  event @0 :UInt64 $unit(count);  # number of the call, from 1; 0 = before any
  text @1 :Text;
}

struct Accounting {  # recorded = replayed + failedCalls + unknownFrees + refused
  recorded @0 :UInt64 $unit(count);
  replayed @1 :UInt64 $unit(count);
  failedCalls @2 :UInt64 $unit(count);   # failed when recorded: not replayed
  unknownFrees @3 :UInt64 $unit(count);  # of blocks that no event of the tape handed out
  refused @4 :UInt64 $unit(count);       # the replaying allocator had no room
  before @5 :UInt64 $unit(count);        # calls before these, which were made and are not analyzed (--from)
}

struct State {  # of a run at one moment
  liveCount @0 :UInt64 $unit(count);
  liveBytes @1 :UInt64 $unit(bytes);
  usableBytes @2 :UInt64 $unit(bytes);
  slackBytes @3 :UInt64 $unit(bytes);
  committedBytes @4 :UInt64 $unit(bytes);
  residentBytes @5 :UInt64 $unit(bytes);
  cumulativeBytesUpper @6 :UInt64 $unit(bytes);
  cumulativeBytesLower @7 :UInt64 $unit(bytes);
  fragmentation @8 :Float64 $unit(ratio);
  temporaries @9 :UInt64 $unit(count);
  residentHoleBytes @10 :UInt64 $unit(bytes);
  holes @11 :Holes;  # absent if blocks were not followed: then usable, slack and resident hole bytes are also unknown
  at @12 :UInt64 $unit(count);    # after so many calls
  timeNs @13 :UInt64 $unit(ns);   # since the recording began; 0 if the tape has no times
  account @14 :Account;  # absent if blocks were not followed
  pins @15 :List(ProgramInfo.Cohort);  # blocks beside holes, with the holes' resident bytes. Of several states at one call, the first has them
}

struct Account {  # where memory is, together with liveBytes and slackBytes of the state
  # committed = live + slack + metadata + cached + hole + top + returned + late.unseen + unexplained
  # resident = committed - returned - untouched
  metadataBytes @0 :UInt64 $unit(bytes);
  cachedBytes @1 :UInt64 $unit(bytes);
  holeBytes @2 :UInt64 $unit(bytes);       # free, between blocks, resident
  topBytes @3 :UInt64 $unit(bytes);        # free, at the end of a region, resident
  returnedBytes @4 :UInt64 $unit(bytes);   # free, not resident
  untouchedBytes @5 :UInt64 $unit(bytes);  # of live blocks, not resident
  unexplainedBytes @6 :Int64 $unit(bytes);
  purgeableBytes @7 :UInt64 $unit(bytes);  # resident pages without a byte in use
  trimmableBytes @8 :UInt64 $unit(bytes);  # what malloc_trim(0) would give back; 0 if there is none
  late @9 :LateStart;  # of the recorded run of a tape that began later than its program; else absent
}

struct LateStart {  # memory of which the beginning is missing
  unseenBytes @0 :UInt64 $unit(bytes);     # there at the start, not handed out or given back since
  openHoles @1 :UInt64 $unit(count);       # holes that border on such memory
  openHoleBytes @2 :UInt64 $unit(bytes);   # theirs, part of holeBytes
}

struct HeapGrowth {  # committed bytes rose above their peak so far
  at @0 :UInt64;                 # number of the call, from 1
  growthBytes @1 :UInt64;
  requestBytes @2 :UInt64;
  ownMapping @3 :Bool;           # the committed memory holds only the call's block
  largestHoleBytes @4 :UInt64;   # right before
  shortBytes @5 :UInt64;         # request - largest hole; 0: size was not the cause
  freeBytes @6 :UInt64;          # right before, in all holes and tops
  pin @7 :Block;  # of the largest hole; absent if that had less than half of the request
  givenBackAt @8 :UInt64;        # the call by which all of it was given back; 0 = never
  rule @9 :Text;                 # why a model took it, a sentence; absent if unknown
  site @10 :Text;                # of the call; only in an Explanation of a tape with stacks
}

struct Block {
  address @0 :UInt64;
  requestedBytes @1 :UInt64;
  usableBytes @2 :UInt64;
  birth @3 :UInt64;              # number of the call that made it, from 1
  thread @4 :UInt32;             # of the tape, modulo 65,536, that made it
  site @5 :Text;                 # of the call; only in an Explanation of a tape with stacks
}

struct Peak {
  liveCount @0 :PeakValue $unit(count);
  liveBytes @1 :PeakValue $unit(bytes);
  usableBytes @2 :PeakValue $unit(bytes);
  committedBytes @3 :PeakValue $unit(bytes);
  residentBytes @4 :PeakValue $unit(bytes);  # the greatest sample
  distanceToIdeal @5 :Float64 $unit(ratio);
  fragmentation @6 :Float64 $unit(ratio);    # at the peak of committedBytes
  holes @7 :Holes;                           # at the peak of committedBytes
}

struct PeakValue {
  value @0 :UInt64;
  at @1 :UInt64 $unit(count);  # number of the call, from 1; 0 = before any
}

struct Holes {
  count @0 :UInt64 $unit(count);
  bytes @1 :UInt64 $unit(bytes);
  largest @2 :UInt64 $unit(bytes);
  over64KiB @3 :UInt64 $unit(count);
  over1MiB @4 :UInt64 $unit(count);
  over8MiB @5 :UInt64 $unit(count);
  topBytes @6 :UInt64 $unit(bytes);
  histogram @7 :List(HoleBucket);
}

struct HoleBucket {
  log2Size @0 :UInt32;  # holes of at least 1 << log2Size bytes and less than twice that
  count @1 :UInt64;
  bytes @2 :UInt64;
}

struct Fidelity {
  sameOffsetShare @0 :Float64 $unit(ratio);
  comparedBlocks @1 :UInt64 $unit(count);
  firstDifference @2 :UInt64 $unit(count);  # number of the call, from 1; 0 = none
}

struct Resizes {
  inPlace @0 :UInt64 $unit(count);
  moved @1 :UInt64 $unit(count);
  movedBytes @2 :UInt64 $unit(bytes);  # the smaller of old and new size of moved blocks
}

struct Time {  # absent in the recorded run, and if times are not told; differs between replays, as latency and Action.elapsedNs do
  replayNs @0 :UInt64 $unit(ns);        # the median of the repeats, like all times
  nsPerEvent @1 :Float64 $unit(ns);
  repeats @2 :UInt64 $unit(count);
  nsPerEventMin @3 :Float64 $unit(ns);  # of the repeats
  nsPerEventMax @4 :Float64 $unit(ns);
  stampNs @5 :Float64 $unit(ns);        # the cost of reading the clock; latencies exclude it
}

struct Counter {
  name @0 :Text;
  value @1 :UInt64;
}

struct Action {  # the allocator was asked to give memory back; measured just before and after
  action @0 :Text;  # "trim" or "purge"
  at @1 :UInt64;    # after so many calls
  committedBytesBefore @2 :UInt64;
  committedBytesAfter @3 :UInt64;
  residentBytesBefore @4 :UInt64;
  residentBytesAfter @5 :UInt64;
  elapsedNs @6 :UInt64;
}

struct Growth {
  worstExponent @0 :Float64 $unit(ratio);  # of the curves that grow; 0 if none does
  curves @1 :List(GrowthCurve);
}

struct GrowthCurve {
  operation @0 :Text;
  work @1 :Text;                     # the unit counted
  scale @2 :Text;                    # against what
  operations @3 :UInt64;
  workTotal @4 :UInt64;
  fitted @5 :Bool;                   # false: the next four mean nothing
  exponent @6 :Float64;
  exponentLow @7 :Float64;           # of the 95 % confidence interval
  exponentHigh @8 :Float64;
  grows @9 :Bool;                    # linearly or worse
  verdict @10 :Text;                 # a sentence; empty unless it grows
}

struct Latency {  # of one kind of call, for one band of block sizes or all
  op @0 :Text;
  samples @1 :UInt64;
  p50Ns @2 :UInt64;
  p99Ns @3 :UInt64;
  p999Ns @4 :UInt64;
  maxNs @5 :UInt64;
  sizes @6 :Text;        # "to64", "to512", "to4KiB", "to128KiB", "above128KiB"; empty for all
  maxAt @7 :UInt64;      # number of the slowest call, from 1
  p50NsMin @8 :UInt64;   # of the repeats
  p50NsMax @9 :UInt64;
  p99NsMin @10 :UInt64;
  p99NsMax @11 :UInt64;
  p999NsMin @12 :UInt64;
  p999NsMax @13 :UInt64;
}

struct Timeline {  # one entry per sample in each array
  at @0 :List(UInt64);
  liveCount @1 :List(UInt64);
  liveBytes @2 :List(UInt64);
  usableBytes @3 :List(UInt64);
  committedBytes @4 :List(UInt64);
  residentBytes @5 :List(UInt64);
  cumulativeBytesUpper @6 :List(UInt64);
  cumulativeBytesLower @7 :List(UInt64);
  holes @8 :TimelineHoles;
  residentHoleBytes @9 :List(UInt64);
  timeNs @10 :List(UInt64);  # 0 if the tape has no times
}

struct TimelineHoles {
  count @0 :List(UInt64);
  bytes @1 :List(UInt64);
  largest @2 :List(UInt64);
  over64KiB @3 :List(UInt64);
  over1MiB @4 :List(UInt64);
  over8MiB @5 :List(UInt64);
  topBytes @6 :List(UInt64);
}

# The output of `heaptape explain --json` and `heaptape holes --json`.
struct Explanation {
  version @0 :UInt32;
  path @1 :Text;
  label @2 :Text;
  backend @3 :Text;
  moment @4 :Moment;
  state @5 :State;
  holeSizes @6 :List(HoleSize);
  actions @7 :List(Action);           # the allocator was asked to give memory back just after
  estimates @8 :List(Estimate);
  heapGrowths @9 :List(HeapGrowth);   # up to that moment, the largest first
  largestHoles @10 :List(Hole);       # the largest first
  pins @11 :List(PinGroup);           # the most resident hole bytes first
  notes @12 :List(Text);
  sites @13 :List(HeapSite);          # of the blocks, the most bytes first; of a tape with stacks
  innerAllocators @14 :List(InnerAllocator);
  lacks @15 :List(Text);              # as Run.lacks; then the resident parts of holes mean nothing

  struct HeapSite {  # a hole between blocks of two sites counts for both
    site @0 :Text;
    blocks @1 :UInt64;
    liveBytes @2 :UInt64;           # requested
    slackBytes @3 :UInt64;
    holeBytes @4 :UInt64;           # of the holes beside them, each counted once
    residentHoleBytes @5 :UInt64;
    standardErrors @6 :SiteStats.HeapErrors;  # of estimates; absent if these figures are exact
  }

  struct HoleSize {
    log2Size @0 :UInt32;      # holes of at least 1 << log2Size bytes and less than twice that
    count @1 :UInt64;
    bytes @2 :UInt64;
    residentBytes @3 :UInt64; # free and resident
  }

  struct Estimate {  # of resident bytes that would come back
    what @0 :Text;   # "trim", "purge", "meshing", "foresight", "compaction"
    bytes @1 :UInt64;
  }

  struct Hole {
    address @0 :UInt64;
    bytes @1 :UInt64;
    residentBytes @2 :UInt64;
    purgeableBytes @3 :UInt64;  # of these, in whole pages
    lastFreeAt @4 :UInt64;  # number of the latest known call that freed a block in it; 0 if none
    before @5 :Block;           # absent if the region begins here, or if unseen memory is there
    after @6 :Block;            # absent if unseen memory is there
    pinnedBy @7 :Text;          # "before" or "after"; absent if that is not known
    bytesWithoutPin @8 :UInt64; # how large the hole would be
    pagesBehindPin @9 :UInt64;  # further bytes of whole pages that would be free
    unseen @10 :Text;           # "before", "after" or "both": the hole ends at unseen memory there; else absent
  }

  struct PinGroup {
    requestedBytes @0 :UInt64;  # of each block
    thread @1 :UInt32;
    count @2 :UInt64;
    firstBirth @3 :UInt64;
    lastBirth @4 :UInt64;
    holeBytes @5 :UInt64;       # of the holes beside them
    residentHoleBytes @6 :UInt64;
    purgeableBytes @7 :UInt64;
    site @8 :Text;              # the site of most of the blocks; absent if none has a stack
    siteCount @9 :UInt64;       # for how many of them, of those whose stacks are on the tape
    sampled @10 :SampledPins;   # only if some of their calls were not chosen to have a stack
  }

  struct SampledPins {
    stackCount @0 :UInt64;      # so many of the blocks have their stacks on the tape
    sampledOfSize @1 :UInt64;   # as have so many live blocks of that size, beside holes or not
    callers @2 :List(Caller);   # most of these by site, the most first
    recordStacks @3 :Text;      # `heaptape record --stacks` with this value records the stacks of all

    struct Caller {
      site @0 :Text;
      count @1 :UInt64;
    }
  }
}

# The output of `heaptape stats --json`.
struct TapeStats {
  version @0 :UInt32;
  path @1 :Text;
  events @2 :UInt64;
  threads @3 :UInt64;
  durationNs @4 :UInt64;
  calls @5 :List(Calls);         # by entry point, only those called
  failedCalls @6 :UInt64;
  nullFrees @7 :UInt64;
  unknownFrees @8 :UInt64;
  temporaries @9 :UInt64;
  liveCount @10 :UInt64;         # at the end
  liveBytes @11 :UInt64;
  peakLiveCount @12 :PeakValue;
  peakLiveBytes @13 :PeakValue;
  cumulativeBytesUpper @14 :UInt64;
  cumulativeBytesLower @15 :UInt64;
  threadList @16 :List(Thread);  # by number, from 0; empty if the tape has no names
  sizes @17 :List(SizeBucket);   # of requests, ascending
  lifetimes @18 :Lifetimes;
  resizes @19 :Resizes;          # as recorded; absent if an imported trace lacks addresses
  growthChains @20 :GrowthChains;
  perThread @21 :List(ThreadTotal);  # of those that made calls, by number
  sites @22 :TapeSites;          # absent if the tape has no stacks
  import @23 :ImportFacts;       # absent if the tape was recorded
  innerAllocators @24 :List(InnerAllocator);
  callsBesideMalloc @25 :List(Calls);  # that map memory or steer the allocator: no events

  struct Thread {
    id @0 :UInt32;  # the process's own number
    name @1 :Text;
  }

  struct Calls {
    op @0 :Text;
    count @1 :UInt64;
  }

  struct SizeBucket {
    from @0 :UInt64;       # the smallest and greatest size counted
    to @1 :UInt64;
    calls @2 :UInt64;      # that requested such a size and got it, resizes included
    bytes @3 :UInt64;      # requested by them
    smallest @4 :UInt64;   # size requested
    largest @5 :UInt64;
    liveCount @6 :UInt64;  # at the end
    overRepresentedByCalls @7 :Bool;
    overRepresentedByBytes @8 :Bool;
  }

  struct Lifetimes {
    blocks @0 :UInt64;         # allocated
    freed @1 :UInt64;
    survivors @2 :UInt64;      # never freed
    survivorBytes @3 :UInt64;
    shareAtZero @4 :Float64;   # of all blocks, like the next two
    shareUnderTenThousandth @5 :Float64;  # of the run, in calls
    shareUnderTenth @6 :Float64;
    calls @7 :LifetimeCurve;   # between allocation and free
    ns @8 :LifetimeCurve;      # from allocation to free; absent if the tape has no times
  }

  struct LifetimeCurve {
    hasMedian @0 :Bool;        # false: fewer than half of the blocks were freed
    median @1 :UInt64;
    cdf @2 :List(LifetimePoint);
  }

  struct LifetimePoint {
    upTo @0 :UInt64;
    blocks @1 :UInt64;         # that lived at most this long
    share @2 :Float64;         # of all blocks
  }

  struct GrowthChains {
    count @0 :UInt64;          # blocks that grew at least twice
    growths @1 :UInt64;        # how often they grew, in total
    copiedBytes @2 :UInt64;    # by their resizes
    costliest @3 :List(GrowthChain);
    longest @4 :List(GrowthChain);
  }

  struct GrowthChain {
    birth @0 :UInt64;          # number of the call that requested the block, from 1
    thread @1 :UInt32;         # of that call
    fromBytes @2 :UInt64;
    toBytes @3 :UInt64;        # its greatest size
    length @4 :UInt64;         # resizes that made it larger
    copiedBytes @5 :UInt64;
    site @6 :Text;             # of that call; only in TapeStats of a tape with stacks
  }

  struct ThreadTotal {
    thread @0 :UInt32;
    calls @1 :UInt64;
    askedBytes @2 :UInt64;     # every size that it requested and got
    liveCount @3 :UInt64;      # blocks that belong to it, at the end
    liveBytes @4 :UInt64;
    foreignFrees @5 :UInt64;   # blocks that it freed and another owned
    freedByOthers @6 :UInt64;  # blocks that it owned and another freed
  }
}

struct SizeRange {  # of requested bytes
  least @0 :UInt64;
  most @1 :UInt64;
}

# The output of `heaptape stats --by site --json`. A block belongs to the site that requested it, or
# resized it last.
struct SiteStats {
  version @0 :UInt32;
  path @1 :Text;
  events @2 :UInt64;
  peakAt @3 :UInt64;             # number of the call after which live bytes were at their peak
  total @4 :SiteTotals;          # of the whole tape
  sites @5 :List(Site);          # that made calls, in the requested order
  heap @6 :Heap;                 # for `heap` of the sites; absent if the run could not be replayed
  sampling @7 :Sampling;         # absent if the stacks of all calls were recorded

  # If present, totals and lifetimes of sites are estimates, but for calls for complete sizes.
  struct Sampling {
    # Stacks were recorded for calls asking for one byte in this many; 0: only for calls for `sizes`.
    everyBytes @0 :UInt64;
    calls @1 :UInt64;            # the number of those calls
    wholeTape @2 :SiteTotals;    # not estimated
    sizes @3 :List(SizeRange);   # the stacks of all calls for these were recorded
  }

  struct Site {
    site @0 :Text;               # as in tables
    function @1 :Text;           # like the next four, empty or 0 if unknown
    file @2 :Text;
    line @3 :UInt32;
    module @4 :Text;             # path of the program or library
    offset @5 :UInt64;           # in the module, of the first of its calls on the tape
    totals @6 :SiteTotals;
    lifetimes @7 :SiteLifetimes;
    heap @8 :SiteHeap;           # absent in the list of a TapeSites
  }

  struct SiteTotals {
    calls @0 :UInt64;            # that got a block, resizes included
    askedBytes @1 :UInt64;       # every size that they requested
    peakBytes @2 :UInt64;        # of its blocks after the call peakAt
    peakCount @3 :UInt64;
    liveBytes @4 :UInt64;        # at the end
    liveCount @5 :UInt64;
    temporaries @6 :UInt64;      # its blocks that the very next call freed
    freedByOthers @7 :UInt64;    # its blocks that another thread freed
    movedBytes @8 :UInt64;       # that its resizes copied
    mappedBytes @9 :UInt64;      # by its calls beside malloc: mmap, mremap, brk
    standardErrors @10 :SiteErrors;  # of estimates; absent if these figures are exact
  }

  struct SiteErrors {  # standard deviations
    calls @0 :UInt64;
    askedBytes @1 :UInt64;
    peakBytes @2 :UInt64;
    liveBytes @3 :UInt64;
  }

  struct Heap {
    label @0 :Text;
    backend @1 :Text;
    moment @2 :Moment;
    total @3 :SiteHeap;          # of the whole heap: each hole once
    slackUnknown @4 :Bool;       # usable sizes are unknown: slackBytes are 0
    pinnedUnknown @5 :Bool;      # residentHoleBytes mean nothing
  }

  struct SiteHeap {  # at the moment; a block belongs to the site that requested it first
    blocks @0 :UInt64;
    liveBytes @1 :UInt64;        # requested
    slackBytes @2 :UInt64;       # usable beyond that
    holeBytes @3 :UInt64;        # of the holes beside them; one between two sites counts for both
    residentHoleBytes @4 :UInt64;
    standardErrors @5 :HeapErrors;  # of estimates; absent if these figures are exact
  }

  struct HeapErrors {  # standard deviations
    blocks @0 :UInt64;
    liveBytes @1 :UInt64;
    holeBytes @2 :UInt64;
    residentHoleBytes @3 :UInt64;
  }

  struct SiteLifetimes {
    blocks @0 :UInt64;           # that belonged to it when they were freed, or do at the end
    hasMedian @1 :Bool;          # false: fewer than half of these were freed
    median @2 :UInt64;           # in calls
  }
}

# The output of `heaptape info --json`. If the tape was not finished, values from its summary are
# absent (text, lists, structs) or 0.
struct TapeFacts {
  version @0 :UInt32;
  path @1 :Text;
  fileBytes @2 :UInt64;
  bytesPerEvent @3 :Float64;
  command @4 :Text;              # the arguments, quoted as for a shell
  commandLine @5 :List(Text);
  executable @6 :Text;           # like the next two, empty if no program left the tape
  pid @7 :UInt32;
  parentPid @8 :UInt32;
  allocator @9 :Text;            # path of the library that served the recorded calls
  writer @10 :Text;
  recordedAt @11 :Text;          # UTC: 2026-11-22T16:59:19Z; empty if no program left the tape
  events @12 :UInt64;
  finished @13 :Bool;
  allocations @14 :UInt64;
  frees @15 :UInt64;
  reallocations @16 :UInt64;
  failedCalls @17 :UInt64;
  threads @18 :UInt64;
  threadList @19 :List(TapeStats.Thread);
  durationNs @20 :UInt64;
  ended @21 :Text;               # "exited with status 0"
  losses @22 :Losses;
  lossCauses @23 :LossCauses;    # of losses.lostEvents, as far as the recorder knows
  stalls @24 :UInt64;
  stallNs @25 :UInt64;
  repairedInversions @26 :UInt64;
  unknownFrees @27 :UInt64;
  nestedCalls @28 :UInt64;
  bootstrapCalls @29 :UInt64;
  stacks @30 :StackFacts;        # absent if the tape has none
  import @31 :ImportFacts;       # absent if the tape was recorded
  allocatorFamily @32 :Text;     # "glibc", "jemalloc", ...; like the next two, empty if unknown
  allocatorVersion @33 :Text;    # the library's own: "5.3.0"
  libc @34 :Text;                # of the recorded process: "glibc 2.36", "musl"
  largestSample @35 :SampledProcess;  # with most anonymous memory; absent if there was no sample
  peakBytes @36 :UInt64;         # the most that was resident in all, so far as sampled (VmHWM)
  innerAllocators @37 :List(InnerAllocator);
  settings @38 :List(Text);      # "NAME=VALUE" of its environment, for allocators
  lateNs @39 :UInt64;            # after the tape began, the recording did; 0: together
  inheritedBlocks @40 :UInt64;   # so many first ones of the events hand out blocks from a fork's parent
  inheritedProblem @41 :Text;    # why these are not known, or not all; absent if they are
  keyframes @42 :UInt64;         # calls at which the tape has the heap, so that a replay can begin there

  struct StackFacts {
    unwinding @0 :Text;          # "dwarf", by unwind tables, or "fp", by frame pointers
    depth @1 :UInt32;            # maximum frames of a stack
    everyBytes @2 :UInt64;       # calls asking for one byte in this many were chosen; 0: all calls
    sizes @3 :List(SizeRange);   # if there are any: all calls for these; of others those of everyBytes, none if 0
  }

  struct LossCauses {
    ringFull @0 :UInt64;
    recorderStopped @1 :UInt64;
    noRing @2 :UInt64;
    leftHooks @3 :UInt64;
    malformed @4 :UInt64;        # of an imported trace, like the next two
    unknownFrees @5 :UInt64;
    doubleFrees @6 :UInt64;
  }
}

# The origin of a tape's calls if it was not recorded. Figures that a trace lacks are omitted or 0,
# and mean nothing.
struct ImportFacts {
  format @0 :Text;               # as given to `heaptape import`
  lacks @1 :List(Text);          # "threads", "addresses", ...: as in `heaptape import list`
}

# The output of `heaptape allocators --json`.
struct AllocatorList {
  version @0 :UInt32;
  engine @1 :Engine;
  allocators @2 :List(Allocator);

  # With the tape and the allocator, this determines a replay's results.
  struct Engine {
    version @0 :Text;            # of heaptape
    buildIds @1 :List(Text);  # of heaptape and heaptape-worker, in hexadecimal; "" if it has none
  }

  struct Allocator {
    label @0 :Text;              # of its runs
    spec @1 :Text;               # as in -a, without the label
    kind @2 :Text;               # "recorded", "noop", "native", "model" or "plugin"
    available @3 :Bool;
    library @4 :Text;  # path of the file that serves malloc; empty if none, or not available
    buildId @5 :Text;            # of that file, in hexadecimal; empty if it has none
    family @6 :Text;             # of a native one, or the one a model imitates
    version @7 :Text;            # the library's own; empty if it gives none, or is not available
  }
}
