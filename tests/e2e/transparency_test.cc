#include "tests/e2e/record_fixture.h"
