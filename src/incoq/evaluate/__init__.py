"""The paper's evaluation as a pipeline: workloads made by Spark, each run measured in a process.

`experiments` and `claims` are data; `sample` is the measured process; `measure` decides what runs next and
appends one row for each sample; `statistics` computes from the rows alone, and `report` shows what came
out.
"""
