from .exporting import export_marian as export_marian
from .imported_tokenizer import SETTINGS as SETTINGS
from .imported_tokenizer import ImportedTokenizer as ImportedTokenizer
from .importing import exact_dtype as exact_dtype
from .importing import import_checkpoint as import_checkpoint
from .int8 import pack as pack
from .int8 import packed_size as packed_size
from .int8 import round_weights as round_weights
