"""Tables that people publish, one file per table: results in, a `Table` out that every format can write."""
