"""Binary files of KenLM, mapped and scored as KenLM scores them.

    header       how a file is known, and what its first bytes say
    layout       where its tables lie
    words        its words, by their hashes or listed
    model        the model
    conversion   all of its grams, as a backoff model
"""

from gapgram.models.kenlm_binary.header import MAGIC
from gapgram.models.kenlm_binary.model import KenlmModel, read_kenlm_binary

__all__ = ["MAGIC", "KenlmModel", "read_kenlm_binary"]
