# Places in the source: answers of processes that read modules, and contents of symbol files.
# Written and read by code_places_codec.cc, symbol_file.cc.
@0xd3b6a1f0c2754e98;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("heaptape::replayer::wire");

struct SourceFrame {
  function @0 :UInt32;  # index into texts
  file @1 :UInt32;      # index into texts
  line @2 :UInt32;
}

struct CodePlace {
  module @0 :UInt32;  # index into texts
  offset @1 :UInt64;
  frames @2 :UInt32;  # how many
}

struct CodePlaces {
  texts @0 :List(Data);           # from tapes and files: bytes
  places @1 :List(CodePlace);
  frames @2 :List(SourceFrame);   # of all places, concatenated
}

struct ModuleAnswer {
  finding @0 :UInt8;  # ModuleFinding
  places @1 :CodePlaces;
}

# The contents of "TAPE.symbols", after the magic. Fields are only ever added.
struct SymbolFile {
  version @0 :UInt32;
  startUnixNs @1 :UInt64;         # of the tape
  pid @2 :UInt32;                 # of the tape
  places @3 :CodePlaces;
  placeOfFrame @4 :List(UInt32);  # index into places
  joinedFrames @5 :UInt32;        # so many first frames are those of the parent's tape
}
