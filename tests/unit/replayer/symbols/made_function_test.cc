#include "replayer/symbols/made_function.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

TEST(MadeFunction, IsOnePythonHas) {
  EXPECT_EQ(made_function("py::parse:/srv/app.py"), (SourceFrame{"parse", "/srv/app.py", 0}));
  EXPECT_EQ(made_function("py::Parser.<locals>.<lambda>:a:b.py"),
            (SourceFrame{"Parser.<locals>.<lambda>", "a:b.py", 0}));
}

TEST(MadeFunction, IsOneV8Compiled) {
  EXPECT_EQ(made_function("JS:*parse /srv/app.js:12:34"),
            (SourceFrame{"parse", "/srv/app.js", 12}));
  EXPECT_EQ(made_function("LazyCompile:~get node:internal/fs:1:2"),
            (SourceFrame{"get", "node:internal/fs", 1}));
  EXPECT_EQ(made_function("JS:^get a /a folder/b.js:7:1"),
            (SourceFrame{"get a", "/a folder/b.js", 7}));
  EXPECT_EQ(made_function("Eval:~ a.js:1:1"), (SourceFrame{"(anonymous)", "a.js", 1}));
}

TEST(MadeFunction, IsAnAccessorOfV8) {
  EXPECT_EQ(made_function("JS:~get size node:internal:1:2"),
            (SourceFrame{"get size", "node:internal", 1}));
  EXPECT_EQ(made_function("JS:*set [Symbol.a] /srv/a b.js:3:4"),
            (SourceFrame{"set [Symbol.a]", "/srv/a b.js", 3}));
}

TEST(MadeFunction, MayBeCalledAsAccessorsBegin) {
  EXPECT_EQ(made_function("JS:*get /srv/my app.js:3:4"), (SourceFrame{"get", "/srv/my app.js", 3}));
  EXPECT_EQ(made_function("JS:*set file:///srv/my app.js:3:4"),
            (SourceFrame{"set", "file:///srv/my app.js", 3}));
  EXPECT_EQ(made_function("JS:~getter size a.js:1:2"), (SourceFrame{"getter", "size a.js", 1}));
}

TEST(MadeFunction, IsAnyOther) {
  for (const char* name : {"Builtin:ArrayMap", "Ljava/lang/Object;::toString", "py::parse",
                           "py::", "JS:*parse", "JS:*parse a.js", "JS:*parse a.js:1",
                           "JS:*parse a.js:1:x", "JS:*parse a.js:99999999999:1", "a b c"}) {
    EXPECT_EQ(made_function(name), (SourceFrame{name, "", 0}));
  }
}

}  // namespace
}  // namespace heaptape::replayer
