"""The paper's evaluation as a pipeline: workloads made by Spark, each run measured in a process.

`catalogue` and `claims` are data; `drivers` say what a program does, `peers` do the same by other libraries;
`sample` holds the measured processes; `measure` decides what runs next and appends a row for each sample;
`statistics` computes from the rows alone, `checks` judge, and `report` shows what came out.
"""
