-- CreateTable
CREATE TABLE "universe"."streams" (
    "stream_id" TEXT NOT NULL,
    "workspace" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "max_attempts" INTEGER NOT NULL,
    "lease_ms" INTEGER NOT NULL,
    "backoff_ms" INTEGER NOT NULL,
    "backoff_max_ms" INTEGER NOT NULL,
    "retention_ms" BIGINT NOT NULL,
    "max_items" INTEGER NOT NULL,
    "ordered" BOOLEAN NOT NULL,
    "last_seq" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "streams_pkey" PRIMARY KEY ("stream_id")
);

-- CreateTable
CREATE TABLE "universe"."work" (
    "work_id" TEXT NOT NULL,
    "stream_id" TEXT NOT NULL,
    "seq" BIGINT NOT NULL,
    "key" TEXT,
    "task" JSON NOT NULL,
    "status" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "available_at" TIMESTAMPTZ(3) NOT NULL,
    "agent_id" TEXT,
    "token_hash" TEXT,
    "lease_expires_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "closed_at" TIMESTAMPTZ(3),
    "result" JSON,
    "error" JSON,

    CONSTRAINT "work_pkey" PRIMARY KEY ("work_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "streams_workspace_name_key" ON "universe"."streams"("workspace", "name");

-- CreateIndex
CREATE UNIQUE INDEX "work_stream_id_seq_key" ON "universe"."work"("stream_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "work_stream_id_key_key" ON "universe"."work"("stream_id", "key");

-- AddForeignKey
ALTER TABLE "universe"."work" ADD CONSTRAINT "work_stream_id_fkey" FOREIGN KEY ("stream_id") REFERENCES "universe"."streams"("stream_id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- What is offered, what is leased, and what is over, each without the rest.
CREATE INDEX "work_pending" ON "universe"."work" ("stream_id", "seq") WHERE "status" = 'pending';
CREATE INDEX "work_leased" ON "universe"."work" ("stream_id", "lease_expires_at") WHERE "status" = 'working';
CREATE INDEX "work_expiring" ON "universe"."work" ("lease_expires_at") WHERE "status" = 'working';
CREATE INDEX "work_closed" ON "universe"."work" ("closed_at") WHERE "closed_at" IS NOT NULL;
