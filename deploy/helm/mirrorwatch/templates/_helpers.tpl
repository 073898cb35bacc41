{{- define "mirrorwatch.name" -}}
{{- .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-mirrorwatch" .Release.Name) (contains "mirrorwatch" .Release.Name)) | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- define "mirrorwatch.labels" -}}
{{ include "mirrorwatch.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "mirrorwatch.selector" -}}
app.kubernetes.io/name: mirrorwatch
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The agent's pods: those of audits and tests are not behind the service. */ -}}
{{- define "mirrorwatch.agent" -}}
{{ include "mirrorwatch.selector" . }}
app.kubernetes.io/component: agent
{{- end }}

{{- /* Images of audits are named after the agent's, by target of the Dockerfile. */ -}}
{{- define "mirrorwatch.image" -}}
{{- $repository := .image.repository -}}
{{- if not $repository -}}
{{- $repository = required "image.repository is missing: no image is published. docs/release.md says how to build and push one" .root.Values.image.repository -}}
{{- $repository = printf "%s%s" $repository (.suffix | default "") -}}
{{- end -}}
{{- if .image.digest -}}
{{ $repository }}@{{ .image.digest }}
{{- else -}}
{{ $repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* The configuration as a mapping (YAML again), whichever way it was given. */ -}}
{{- define "mirrorwatch.parsed" -}}
{{- if kindIs "string" .Values.config -}}
{{- $parsed := fromYaml .Values.config -}}
{{- if hasKey $parsed "Error" -}}
{{- fail (printf "config is not YAML: %s" $parsed.Error) -}}
{{- end -}}
{{- toYaml $parsed -}}
{{- else -}}
{{- toYaml (.Values.config | default dict) -}}
{{- end -}}
{{- end }}

{{- define "mirrorwatch.listen" -}}
{{- $config := include "mirrorwatch.parsed" . | fromYaml -}}
{{- get ($config.web | default dict) "listen" | default "0.0.0.0:8080" -}}
{{- end }}

{{- define "mirrorwatch.scheme" -}}
{{- $config := include "mirrorwatch.parsed" . | fromYaml -}}
{{- if get ($config.web | default dict) "tls_server_config" -}}HTTPS{{- else -}}HTTP{{- end -}}
{{- end }}

{{- define "mirrorwatch.port" -}}
{{- include "mirrorwatch.listen" . | splitList ":" | last -}}
{{- end }}

{{- /* The agent's file. A container's loopback is reached by nobody, so the page
listens on all addresses unless it is configured. */ -}}
{{- define "mirrorwatch.file" -}}
{{- $config := include "mirrorwatch.parsed" . | fromYaml -}}
{{- if kindIs "string" .Values.config -}}
{{ .Values.config | trimSuffix "\n" }}
{{- if not (hasKey $config "web") }}
# By the chart: a container's loopback is reached by nobody else.
web: {listen: "0.0.0.0:8080"}
{{- end }}
{{- else -}}
{{- $web := merge (dict "listen" "0.0.0.0:8080") ($config.web | default dict) -}}
{{- if get ($config.web | default dict) "listen" -}}
{{- $web = $config.web -}}
{{- end -}}
{{ toYaml (set $config "web" $web) }}
{{- end }}
{{- end }}

{{- define "mirrorwatch.claim" -}}
{{- .Values.persistence.existingClaim | default (include "mirrorwatch.name" .) -}}
{{- end }}

{{- define "mirrorwatch.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "mirrorwatch.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* What all pods have in common. */ -}}
{{- define "mirrorwatch.pod" -}}
serviceAccountName: {{ include "mirrorwatch.name" . }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- include "mirrorwatch.podSecurity" . | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- /* And all containers. */ -}}
{{- define "mirrorwatch.container" -}}
securityContext: {{- include "mirrorwatch.containerSecurity" . | nindent 2 }}
env:
  - {name: MIRRORWATCH_CONFIG, value: /etc/mirrorwatch/config.yaml}
  - {name: HOME, value: /tmp}
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.envFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "mirrorwatch.mounts" -}}
- {name: config, mountPath: /etc/mirrorwatch, readOnly: true}
- {name: state, mountPath: /var/lib/mirrorwatch}
{{ include "mirrorwatch.auditMounts" . }}
{{- end }}

{{- /* What executors of Spark need too: they read Kafka with the driver's
properties, and write results. */ -}}
{{- define "mirrorwatch.auditMounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .Values.secrets.from }}
- {name: secrets, mountPath: {{ .Values.secrets.path | quote }}, readOnly: true}
{{- end }}
{{- if eq .Values.audit.runs "SparkApplication" }}
- {name: audits, mountPath: {{ (include "mirrorwatch.parsed" . | fromYaml).audit.out | quote }}}
{{- end }}
{{- end }}

{{- define "mirrorwatch.volumes" -}}
- name: config
  configMap: {name: {{ include "mirrorwatch.name" . }}}
- name: tmp
  emptyDir: {}
{{- if eq .Values.audit.runs "SparkApplication" }}
- name: audits
  persistentVolumeClaim: {claimName: {{ .Values.audit.spark.claim }}}
{{- end }}
{{- with .Values.secrets.from }}
- name: secrets
  projected:
    # The agent's group reads them.
    defaultMode: 0440
    sources:
      {{- range . }}
      - secret:
          name: {{ .name }}
          {{- with .items }}
          items: {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- if .optional }}
          optional: true
          {{- end }}
      {{- end }}
{{- end }}
{{- end }}

{{- define "mirrorwatch.stateVolume" -}}
- name: state
  persistentVolumeClaim: {claimName: {{ include "mirrorwatch.claim" . }}}
{{- end }}

{{- define "mirrorwatch.strimzi" -}}
{{- $one := "kafka.strimzi.io/v1" -}}
{{- .Values.kafka.apiVersion | default (ternary $one "kafka.strimzi.io/v1beta2" (.Capabilities.APIVersions.Has (printf "%s/KafkaUser" $one))) -}}
{{- end }}

{{- define "mirrorwatch.oneOnly" -}}
mirrorwatch runs as one process: the state file has a lock, and a second agent beside it refuses to start. So the chart has one replica and the strategy Recreate, and an update stops the old pod first. The gap is some seconds; nothing is missed, as positions, counters and probes in flight are kept in the state file.
{{- end }}

{{- /* Refuses values that cannot work, with the reason. */ -}}
{{- define "mirrorwatch.refuse" -}}
{{- range $key := list "replicas" "replicaCount" -}}
{{- $wanted := get $.Values $key -}}
{{- if and (hasKey $.Values $key) (ne (toString $wanted) "1") -}}
{{- fail (printf "%s: %v is refused. %s To watch a flow from two places install two releases, each with canary.topic of its own." $key $wanted (include "mirrorwatch.oneOnly" $)) -}}
{{- end -}}
{{- end -}}
{{- range $key := list "strategy" "updateStrategy" -}}
{{- $wanted := get $.Values $key -}}
{{- if kindIs "map" $wanted -}}{{- $wanted = get $wanted "type" -}}{{- end -}}
{{- if and (hasKey $.Values $key) (ne (toString $wanted) "Recreate") -}}
{{- fail (printf "%s: %v is refused. %s" $key $wanted (include "mirrorwatch.oneOnly" $)) -}}
{{- end -}}
{{- end -}}
{{- if get (.Values.autoscaling | default dict) "enabled" -}}
{{- fail (printf "autoscaling is refused. %s" (include "mirrorwatch.oneOnly" .)) -}}
{{- end -}}
{{- if not .Values.config -}}
{{- fail "config is missing: --set-file config=mirrorwatch.yaml, made by mirrorwatch init; or enabled=false where the agent does not run" -}}
{{- end -}}
{{- $config := include "mirrorwatch.parsed" . | fromYaml -}}
{{- if and (kindIs "string" .Values.config) (hasKey $config "web") (not (get ($config.web | default dict) "listen")) -}}
{{- fail "config: add listen: 0.0.0.0:8080 to web. By default the page listens on loopback, which in a container is reached by nobody else" -}}
{{- end -}}
{{- $listen := include "mirrorwatch.listen" . -}}
{{- if regexMatch "^(127[.].*|localhost|\\[::1\\]):\\d+$" $listen -}}
{{- fail (printf "config: web.listen is %s, which in a container is reached by nobody else, not even by Kubernetes' probes. Set 0.0.0.0:8080; the network policy limits who may reach it" $listen) -}}
{{- end -}}
{{- if not (regexMatch ":[1-9]\\d{0,4}$" $listen) -}}
{{- fail (printf "config: web.listen is %s: the chart needs the port as a number" $listen) -}}
{{- end -}}
{{- include "mirrorwatch.refuseSecrets" (dict "value" $config "path" "config") -}}
{{- include "mirrorwatch.refuseMissing" . -}}
{{- include "mirrorwatch.refuseAudit" (dict "root" . "config" $config) -}}
{{- end }}

{{- /* A ConfigMap is no place for a secret. The message does not quote it. */ -}}
{{- define "mirrorwatch.refuseSecrets" -}}
{{- $path := .path -}}
{{- if kindIs "map" .value -}}
{{- range $key, $value := .value -}}
{{- $here := printf "%s.%s" $path $key -}}
{{- if and (kindIs "string" $value) (regexMatch "(?i)(pass?word|secret|token|authorization|jaas[.]config|oauthbearer[.]config|key[.]pem)$" $key) (not (contains "${" $value)) -}}
{{- fail (printf "%s is written out, and would be in a ConfigMap. Put it into a Secret, name that under secrets.from, and write ${file:/run/secrets/mirrorwatch/FILE} here" $here) -}}
{{- end -}}
{{- include "mirrorwatch.refuseSecrets" (dict "value" $value "path" $here) -}}
{{- end -}}
{{- else if kindIs "slice" .value -}}
{{- range $index, $value := .value -}}
{{- include "mirrorwatch.refuseSecrets" (dict "value" $value "path" (printf "%s[%d]" $path $index)) -}}
{{- end -}}
{{- else if kindIs "string" .value -}}
{{- if and (regexMatch "://[^/\\s]*:[^/\\s]*@" .value) (not (contains "${" .value)) -}}
{{- fail (printf "%s has a password in its address, and would be in a ConfigMap. Put it into a Secret, name that under secrets.from, and write a reference ${file:...} here" $path) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* A file under secrets.path without a secret would stop the agent at its start. */ -}}
{{- define "mirrorwatch.refuseMissing" -}}
{{- $files := list -}}
{{- range .Values.secrets.from -}}
{{- if not .items -}}{{- $files = append $files "*" -}}{{- end -}}
{{- range .items -}}{{- $files = append $files .path -}}{{- end -}}
{{- end -}}
{{- $folder := printf "%s/" .Values.secrets.path -}}
{{- range regexFindAll (printf "%s[\\w./-]+" (regexQuoteMeta $folder)) (include "mirrorwatch.file" .) -1 | uniq -}}
{{- $file := trimPrefix $folder . -}}
{{- if not (or (has "*" $files) (has $file $files)) -}}
{{- fail (printf "config names %s%s, which no item of secrets.from provides: add its Secret, key and path" $folder $file) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "mirrorwatch.refuseAudit" -}}
{{- $runs := .root.Values.audit.runs -}}
{{- $audit := .config.audit -}}
{{- $audited := not (kindIs "invalid" $audit) -}}
{{- $starts := true -}}
{{- if and (kindIs "map" $audit) (hasKey $audit "start") -}}
{{- $starts = $audit.start -}}
{{- end -}}
{{- if and $audited $starts (ne $runs "Agent") -}}
{{- if $runs -}}
{{- fail (printf "config: set audit.start to false: with audit.runs=%s the agent only reads the results. Else two of them would run each night" $runs) -}}
{{- end -}}
{{- fail "config has audit, and the agent's image has no Spark. Choose who runs audits: audit.runs=Agent, CronJob or SparkApplication" -}}
{{- end -}}
{{- if and $runs (not $audited) -}}
{{- fail (printf "audit.runs is %s, and config has no audit block" $runs) -}}
{{- end -}}
{{- if and (eq $runs "Agent") (not $starts) -}}
{{- fail "config: audit.start is false, so with audit.runs=Agent nobody would run audits" -}}
{{- end -}}
{{- if and (eq $runs "SparkApplication") (not (hasPrefix "/" (get ($audit | default dict) "out" | default ""))) -}}
{{- fail "config: audit.runs=SparkApplication needs audit.out, a path such as /audits: the claim of audit.spark.claim is mounted there, and the agent reads results from it" -}}
{{- end -}}
{{- if and (eq $runs "SparkApplication") (not .root.Values.audit.spark.claim) -}}
{{- fail "audit.runs=SparkApplication needs audit.spark.claim, a claim that several nodes can write (ReadWriteMany): driver and executors write results there, and the agent reads them" -}}
{{- end -}}
{{- end }}
