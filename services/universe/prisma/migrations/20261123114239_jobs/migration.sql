-- CreateTable
CREATE TABLE "universe"."jobs" (
    "job_id" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "cmd" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "kill_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "output" TEXT,
    "exit_code" INTEGER,

    CONSTRAINT "jobs_pkey" PRIMARY KEY ("job_id")
);
