"""The nightly audit: started in processes of its own, its results read."""

from .job import Job, JobSettings
from .obstacles import why_not_read, why_not_start
from .results import ResultFolder
from .schedule import Schedule
from .starter import Diary, Starter
from .worker import AuditWorker, FlowAudits

__all__ = ["AuditWorker", "Diary", "FlowAudits", "Job", "JobSettings"]
__all__ += ["ResultFolder", "Schedule", "Starter"]
__all__ += ["why_not_read", "why_not_start"]
