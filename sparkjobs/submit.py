"""For `spark-submit`, which wants a file: the same as `mirrorwatch audit`.

``spark-submit --master spark://spark:7077 submit.py run --config c.yaml``
"""

from mirrorwatch_audit.__main__ import main

if __name__ == "__main__":
    main()
