-- CreateTable
CREATE TABLE "universe"."contacts" (
    "connector" TEXT NOT NULL,
    "checked_at" TIMESTAMPTZ(3) NOT NULL,
    "ok_at" TIMESTAMPTZ(3),
    "error" TEXT,

    CONSTRAINT "contacts_pkey" PRIMARY KEY ("connector")
);

-- CreateTable
CREATE TABLE "universe"."boots" (
    "session" TEXT NOT NULL,
    "task_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "boots_pkey" PRIMARY KEY ("session")
);

-- CreateIndex
CREATE INDEX "boots_node_id_idx" ON "universe"."boots"("node_id");

-- CreateIndex
CREATE INDEX "boots_at_idx" ON "universe"."boots"("at");
