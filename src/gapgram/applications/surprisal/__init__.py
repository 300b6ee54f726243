"""Tables of what each word of a text costs a reader, in bits.

stimuli         texts and tables of stimuli, as regions of words; marks taken off them, and given back
measures        what is asked of the model for the words of some sentences
table           one row a region, as a table of its own or for pandas
formats         TSV, CSV and JSON lines
"""
