"""Pure statistics and judgements: numbers in, numbers out."""
