-- Where brains belong, which were deleted and are kept, and what is on its way to another name.
CREATE TABLE "brain"."brain_homes" (
    "brain" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "workspace" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_homes_pkey" PRIMARY KEY ("brain")
);

-- CreateTable
CREATE TABLE "brain"."brain_deleted" (
    "folder" TEXT NOT NULL,
    "brain" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "workspace" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_deleted_pkey" PRIMARY KEY ("folder")
);

-- CreateTable
CREATE TABLE "brain"."brain_moves" (
    "brain" TEXT NOT NULL,
    "to" TEXT,
    "folder" TEXT,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_moves_pkey" PRIMARY KEY ("brain")
);

-- CreateIndex
CREATE INDEX "brain_deleted_brain_idx" ON "brain"."brain_deleted"("brain");

-- CreateIndex
CREATE UNIQUE INDEX "brain_moves_to_key" ON "brain"."brain_moves"("to");
