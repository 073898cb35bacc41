# The agent: `docker build --target agent --tag mirrorwatch .`
# The same with Java and Spark, for audits: `docker build --target audit ...`
# For audits by Spark's operator: `docker build --target audit-on-kubernetes ...`
# The same Python in both stages: the virtualenv links to its interpreter.
ARG PYTHON=python:3.11.14-slim-bookworm

FROM ${PYTHON} AS build
RUN pip install --no-cache-dir uv==0.13.8
WORKDIR /src
ENV UV_PROJECT_ENVIRONMENT=/opt/mirrorwatch \
    UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_NO_CACHE=1 \
    UV_PYTHON_DOWNLOADS=never
# Dependencies first: they change less often than the code.
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-default-groups --no-install-project
COPY README.md LICENSE ./
COPY agent/mirrorwatch ./agent/mirrorwatch
RUN uv sync --frozen --no-default-groups --no-editable

FROM ${PYTHON} AS agent
# A number, so that Kubernetes can see that it is not root (runAsNonRoot). With a
# name too: Spark does not start for a user that /etc/passwd does not have.
RUN useradd --uid 10001 --user-group --no-create-home \
        --home-dir /var/lib/mirrorwatch --shell /usr/sbin/nologin mirrorwatch \
    && install -d -o 10001 -g 10001 /var/lib/mirrorwatch
COPY --from=build /opt/mirrorwatch /opt/mirrorwatch
# XDG_STATE_HOME puts the state file on the volume unless `state.path` says
# otherwise. MIRRORWATCH_HEALTHZ must follow the port of `web.listen`, and be
# https:// with `web.tls_server_config`. MALLOC_*: docs/performance.md.
ENV PATH=/opt/mirrorwatch/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=65536 \
    XDG_STATE_HOME=/var/lib \
    MIRRORWATCH_HEALTHZ=http://127.0.0.1:8080/healthz
VOLUME /var/lib/mirrorwatch
EXPOSE 8080
USER 10001:10001
# 503 (the last tick is older than three intervals) and silence are unhealthy.
# Asked without a proxy, which could not lead back into the container; within
# it no certificate needs to be verified.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, ssl, urllib.request as r; r.build_opener(r.ProxyHandler({}), r.HTTPSHandler(context=ssl._create_unverified_context())).open(os.environ['MIRRORWATCH_HEALTHZ'], timeout=4)"]
ENTRYPOINT ["mirrorwatch"]
CMD ["run", "--config", "/etc/mirrorwatch/config.yaml"]

FROM build AS spark
COPY sparkjobs ./sparkjobs
# Beside Spark's own jars, where they are found: nothing is fetched at night.
RUN uv sync --frozen --no-default-groups --no-editable --extra spark \
        --reinstall-package mirrorwatch \
    && /opt/mirrorwatch/bin/python -m mirrorwatch_audit.connector \
        "$(/opt/mirrorwatch/bin/python -c 'import pyspark; print(pyspark.__path__[0])')/jars"

FROM agent AS audit
USER root
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*
COPY --from=spark /opt/mirrorwatch /opt/mirrorwatch
USER 10001:10001

# Driver and executors of Spark on Kubernetes, which start by Spark's own script.
FROM apache/spark:4.0.0 AS script

FROM audit AS audit-on-kubernetes
USER root
RUN apt-get update \
    && apt-get install --yes --no-install-recommends procps tini \
    && rm -rf /var/lib/apt/lists/* \
    && ln -s "$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")" /opt/java \
    && ln -s "$(/opt/mirrorwatch/bin/python -c 'import pyspark; print(pyspark.__path__[0])')" /opt/spark
COPY --from=script /opt/entrypoint.sh /opt/entrypoint.sh
COPY sparkjobs/submit.py /opt/mirrorwatch/submit.py
ENV JAVA_HOME=/opt/java \
    SPARK_HOME=/opt/spark \
    PYSPARK_PYTHON=/opt/mirrorwatch/bin/python \
    PYSPARK_DRIVER_PYTHON=/opt/mirrorwatch/bin/python
USER 10001:10001
ENTRYPOINT ["/opt/entrypoint.sh"]
CMD []
