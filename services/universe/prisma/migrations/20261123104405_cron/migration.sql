-- CreateTable
CREATE TABLE "universe"."cron_jobs" (
    "job_key" TEXT NOT NULL,
    "workspace" TEXT NOT NULL,
    "job_id" TEXT NOT NULL,
    "identity" TEXT NOT NULL,
    "agent_id" TEXT,
    "bound" TEXT,
    "profile" TEXT,
    "interval_ms" INTEGER NOT NULL,
    "tool" TEXT,
    "args" JSON,
    "enabled" BOOLEAN NOT NULL,
    "anchor_at" TIMESTAMPTZ(3) NOT NULL,
    "next_at" TIMESTAMPTZ(3) NOT NULL,
    "last_tick" BIGINT NOT NULL DEFAULT 0,
    "runs" BIGINT NOT NULL DEFAULT 0,
    "failures" BIGINT NOT NULL DEFAULT 0,
    "missed" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "cron_jobs_pkey" PRIMARY KEY ("job_key")
);

-- CreateTable
CREATE TABLE "universe"."cron_runs" (
    "run_id" TEXT NOT NULL,
    "job_key" TEXT NOT NULL,
    "seq" BIGINT NOT NULL,
    "anchor_at" TIMESTAMPTZ(3) NOT NULL,
    "tick" BIGINT,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "status" TEXT NOT NULL,
    "code" TEXT,
    "duration_ms" INTEGER,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,
    "result" JSON,

    CONSTRAINT "cron_runs_pkey" PRIMARY KEY ("run_id")
);

-- CreateTable
CREATE TABLE "universe"."operations" (
    "workspace" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "family" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "spec" JSON NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "operations_pkey" PRIMARY KEY ("workspace","name")
);

-- CreateIndex
CREATE UNIQUE INDEX "cron_jobs_workspace_job_id_key" ON "universe"."cron_jobs"("workspace", "job_id");

-- CreateIndex
CREATE UNIQUE INDEX "cron_runs_job_key_anchor_at_tick_key" ON "universe"."cron_runs"("job_key", "anchor_at", "tick");

-- CreateIndex
CREATE UNIQUE INDEX "cron_runs_job_key_seq_key" ON "universe"."cron_runs"("job_key", "seq");

-- CreateIndex
CREATE INDEX "operations_workspace_family_idx" ON "universe"."operations"("workspace", "family");

-- AddForeignKey
ALTER TABLE "universe"."cron_runs" ADD CONSTRAINT "cron_runs_job_key_fkey" FOREIGN KEY ("job_key") REFERENCES "universe"."cron_jobs"("job_key") ON DELETE CASCADE ON UPDATE NO ACTION;

-- What is due, and what runs, each without the rest.
CREATE INDEX "cron_jobs_due" ON "universe"."cron_jobs" ("next_at") WHERE "enabled";
CREATE INDEX "cron_runs_running" ON "universe"."cron_runs" ("seen_at") WHERE "status" = 'running';
