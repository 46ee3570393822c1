"""The picture of a pair of graphs and their mix, and the parts that it is made of."""
