"""The same queries at scale, on Spark: `pip install incoq[spark]`. Nothing else imports pyspark.

`session` gives a Spark session that suits it.
"""
