#include "replayer/symbols/function_symbols.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

namespace heaptape::replayer {
namespace {

// Signal handlers return to its beginning, which no call precedes.
constexpr std::string_view kSignalReturn = "__restore_rt";

struct Symbol {
  base::AddressRange range;  // empty: the symbol has no size
  uint64_t section_end = 0;  // its limit
  const char* name = nullptr;
  unsigned char binding = STB_LOCAL;
};

// The greatest of the symbols for the same code names it: exported, with fewer leading underscores
// (malloc, not __libc_malloc).
auto preference(const Symbol& symbol) {
  const auto underscores = static_cast<int>(std::string_view(symbol.name).find_first_not_of('_'));
  return std::tuple(symbol.binding != STB_LOCAL, -underscores, symbol.binding == STB_GLOBAL,
                    std::string_view(symbol.name));
}

bool by_begin(const Symbol& a, const Symbol& b) {
  return std::tuple(a.range.begin, b.range.end, preference(a)) <
         std::tuple(b.range.begin, a.range.end, preference(b));
}

// The end of the code around a symbol; 0 if it is not in code.
uint64_t code_end(Elf* elf, GElf_Word section_index, GElf_Addr bias) {
  Elf_Scn* const section = elf == nullptr ? nullptr : elf_getscn(elf, section_index);
  GElf_Shdr header;
  if (section == nullptr || gelf_getshdr(section, &header) == nullptr) return 0;
  if ((header.sh_flags & SHF_EXECINSTR) == 0) return 0;
  return header.sh_addr + header.sh_size + bias;
}

// Functions, and labels in assembly.
std::vector<Symbol> symbols_of(Dwfl_Module* module) {
  std::vector<Symbol> symbols;
  const int count = dwfl_module_getsymtab(module);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = SHN_UNDEF;
    Elf* elf = nullptr;
    GElf_Addr bias = 0;
    const char* const name =
        dwfl_module_getsym_info(module, i, &symbol, &address, &section, &elf, &bias);
    if (name == nullptr || *name == '\0' || section == SHN_UNDEF) continue;
    const int type = GELF_ST_TYPE(symbol.st_info);
    const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
    if (!is_function && type != STT_NOTYPE) continue;
    const uint64_t size = is_function ? symbol.st_size : 0;
    const uint64_t section_end = size == 0 ? code_end(elf, section, bias) : 0;
    if (size == 0 && section_end == 0) continue;
    symbols.push_back({{address, address + size},
                       section_end,
                       name,
                       static_cast<unsigned char>(GELF_ST_BIND(symbol.st_info))});
  }
  return symbols;
}

}  // namespace

FunctionSymbols::FunctionSymbols(Dwfl_Module* module) {
  std::vector<Symbol> symbols = symbols_of(module);
  std::ranges::sort(symbols, by_begin);
  // A symbol without a size extends to the next one, below those with a size.
  uint64_t next_begin = UINT64_MAX;
  for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
    const uint64_t begin = symbol->range.begin;
    if (symbol->range.bytes() == 0) {
      names_.assign({begin, std::min(next_begin, symbol->section_end)}, symbol->name);
    }
    next_begin = begin;
  }
  for (const Symbol& symbol : symbols) names_.assign(symbol.range, symbol.name);
}

std::string FunctionSymbols::find(uint64_t address) const {
  if (const char* const* const name = names_.find(address)) return *name;
  const char* const* const behind = names_.find(address + 1);
  return behind != nullptr && *behind == kSignalReturn ? *behind : "";
}

}  // namespace heaptape::replayer
