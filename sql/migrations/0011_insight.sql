-- breaking: no
-- For those who look at runs: which have ended when, and which wait for a person. Both change only where a run is parked, taken or ended:
-- a turn that goes on writes no index (0001).

create index runs_finished on @schema@.runs (workspace, finished_at) where finished_at is not null;
create index runs_inbox on @schema@.runs (workspace, uid) where status = 'waiting' and reason = 'signal' and stop is null;
