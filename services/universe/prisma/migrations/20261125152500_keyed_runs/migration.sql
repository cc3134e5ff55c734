-- CreateTable
CREATE TABLE "universe"."keyed_runs" (
    "open_key" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "args_hash" TEXT NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "keyed_runs_pkey" PRIMARY KEY ("open_key")
);
