-- CreateTable
CREATE TABLE "agora"."event_log" (
    "seq" BIGINT NOT NULL,
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "node" TEXT NOT NULL,
    "module" TEXT NOT NULL,
    "workspace" TEXT,
    "audience" TEXT NOT NULL,
    "payload" JSON NOT NULL,

    CONSTRAINT "event_log_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "agora"."log_position" (
    "service" TEXT NOT NULL,
    "position" BIGINT NOT NULL,
    "lost" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "log_position_pkey" PRIMARY KEY ("service")
);

-- CreateTable
CREATE TABLE "agora"."log_head" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "seq" BIGINT NOT NULL DEFAULT 0,
    "holder" TEXT,
    "held_until" TIMESTAMPTZ(3),
    "secret" TEXT NOT NULL,

    CONSTRAINT "log_head_pkey" PRIMARY KEY ("one")
);

-- CreateTable
CREATE TABLE "agora"."log_sink" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "enabled" BOOLEAN NOT NULL DEFAULT false,
    "since" TIMESTAMPTZ(3),
    "seq" BIGINT NOT NULL DEFAULT 0,
    "file" TEXT,
    "written" BIGINT NOT NULL DEFAULT 0,
    "dropped" BIGINT NOT NULL DEFAULT 0,
    "bytes" BIGINT NOT NULL DEFAULT 0,
    "last_at" TIMESTAMPTZ(3),

    CONSTRAINT "log_sink_pkey" PRIMARY KEY ("one")
);

-- CreateIndex
CREATE UNIQUE INDEX "event_log_id_key" ON "agora"."event_log"("id");

-- CreateIndex
CREATE INDEX "event_log_name_seq_idx" ON "agora"."event_log"("name", "seq");
