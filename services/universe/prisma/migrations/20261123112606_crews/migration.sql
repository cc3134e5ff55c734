-- CreateTable
CREATE TABLE "universe"."crews" (
    "crew_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "folded" TEXT NOT NULL,
    "universe" TEXT NOT NULL,
    "seed" TEXT NOT NULL,
    "roster" JSON NOT NULL,
    "workspace" TEXT NOT NULL,
    "owner" TEXT,
    "limit_micros" BIGINT NOT NULL,
    "created_by" TEXT NOT NULL,
    "operator" BOOLEAN NOT NULL,
    "open_key" TEXT,
    "phase" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "task_count" INTEGER NOT NULL,
    "done" INTEGER NOT NULL,
    "refused" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "tried_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "crews_pkey" PRIMARY KEY ("crew_id")
);

-- CreateTable
CREATE TABLE "universe"."crew_tasks" (
    "task_id" TEXT NOT NULL,
    "crew_id" TEXT NOT NULL,
    "no" INTEGER NOT NULL,
    "text" TEXT NOT NULL,
    "cost_micros" BIGINT NOT NULL,
    "delta_id" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "open_key" TEXT,
    "args_hash" TEXT,
    "state" TEXT NOT NULL,
    "executor" TEXT,
    "voters" JSON,
    "decision" JSON,
    "pool" JSON,
    "phase" TEXT,
    "refusal" JSON,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "tried_at" TIMESTAMPTZ(3) NOT NULL,
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "crew_tasks_pkey" PRIMARY KEY ("task_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "crews_folded_key" ON "universe"."crews"("folded");

-- CreateIndex
CREATE UNIQUE INDEX "crew_tasks_open_key_key" ON "universe"."crew_tasks"("open_key");

-- CreateIndex
CREATE UNIQUE INDEX "crew_tasks_crew_id_no_key" ON "universe"."crew_tasks"("crew_id", "no");

-- AddForeignKey
ALTER TABLE "universe"."crew_tasks" ADD CONSTRAINT "crew_tasks_crew_id_fkey" FOREIGN KEY ("crew_id") REFERENCES "universe"."crews"("crew_id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- What is open, without the rest.
CREATE INDEX "crews_assembling" ON "universe"."crews" ("tried_at") WHERE "phase" = 'assembling';
CREATE INDEX "crew_tasks_open" ON "universe"."crew_tasks" ("tried_at") WHERE "closed_at" IS NULL;
CREATE INDEX "crew_tasks_open_of_crew" ON "universe"."crew_tasks" ("crew_id") WHERE "closed_at" IS NULL;
CREATE INDEX "crew_tasks_closed" ON "universe"."crew_tasks" ("closed_at") WHERE "closed_at" IS NOT NULL;
